"""Digits that are not threes, by the smallest ball around threes: without and with some other digits known."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from mercer import SVDD, OneClassSVM
from mercer.kernels import Gaussian, Polynomial

X, digit = load_digits(return_X_y=True)
X, X_new, digit, digit_new = train_test_split(X / 16, digit, test_size=0.5, random_state=0)
threes, others = X[digit == 3], X[digit != 3][:40]
known = np.concatenate([np.ones(len(threes)), -np.ones(len(others))])

C = 1 / (0.05 * len(threes))  # a twentieth of them may lie outside, as nu=0.05 says for the one-class machine
for kernel in (Gaussian(3.0), Polynomial(2)):
    print(kernel)
    for name, machine in {
        "one-class machine": OneClassSVM(kernel=kernel, nu=0.05).fit(threes),
        "ball": SVDD(C=C, kernel=kernel).fit(threes),
        "ball, outliers known": SVDD(C=C, kernel=kernel).fit(np.vstack([threes, others]), known),
    }.items():
        area = roc_auc_score(digit_new == 3, machine.decision_function(X_new))
        inside = machine.predict(X_new) == 1
        found, wrong = inside[digit_new == 3].mean(), inside[digit_new != 3].mean()
        print(f"  {name:20s} area {area:.4f}, inside {found:4.0%} of new threes and {wrong:5.1%} of other digits")
print(f"radius {machine.radius_:.3f}, {len(machine.support_)} support vectors")
print(f"certificate of the last: {machine.certificate_}")
