"""Learns digits on-line: a perceptron and a kernel perceptron that keeps at most 300 examples, from a stream."""

import numpy as np
from sklearn.datasets import load_digits

from mercer import KernelPerceptron, Perceptron
from mercer.kernels import Gaussian

X, y = load_digits(return_X_y=True)
stream = np.array_split(np.random.default_rng(0).permutation(1500), 15)
test = np.arange(1500, len(X))

machines = {
    "perceptron": Perceptron(),
    "kernel perceptron": KernelPerceptron(Gaussian(30.0)),
    "averaged": KernelPerceptron(Gaussian(30.0), averaged=True),
    "at most 300 kept": KernelPerceptron(Gaussian(30.0), budget=300),
}
for name, machine in machines.items():
    for part in stream:
        machine.partial_fit(X[part], y[part], classes=np.arange(10))
    kept = f"{len(machine.expansion_)} samples kept" if name != "perceptron" else "10 vectors of weights kept"
    print(f"{name:18s} accuracy {machine.score(X[test], y[test]):.3f} after one pass, {kept}")
    print(f"{'':18s} mistakes in every hundred: {' '.join(map(str, machine.mistakes_))}")

separable = Perceptron().fit(X[:400], y[:400])
print(f"{separable.n_iter_} passes over 400 digits until none is left: {' '.join(map(str, separable.mistakes_))}")
