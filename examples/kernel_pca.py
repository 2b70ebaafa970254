"""Denoises handwritten digits: kernel PCA of clean ones, then pre-images of noisy ones along its components."""

import numpy as np
from sklearn.datasets import load_digits

from mercer import KernelPCA, KernelSVD
from mercer.kernels import Gaussian

X = load_digits().data / 16
rng = np.random.default_rng(0)
clean, test = X[:800], X[800:900]
noisy = test + 0.3 * rng.standard_normal(test.shape)

machine = KernelPCA(60, kernel=Gaussian(2.5)).fit(clean)
print(
    "components  ", len(machine.eigenvalues_), "of", len(clean), "digits in", machine.n_iter_, "passes over the matrix"
)
print(f"residuals    {machine.residuals_.max() / machine.eigenvalues_[0]:.1e} of the largest eigenvalue at most")

back = machine.inverse_transform(machine.transform(noisy))
before, after = (np.sqrt(np.mean((images - test) ** 2)) for images in (noisy, back))
print(f"error        {before:.3f} with noise, {after:.3f} denoised")

K, halves = Gaussian(2.5)(test, clean), KernelSVD(20, kernel=Gaussian(2.5)).fit(test, Z=clean)
rank20 = halves.transform(test) @ (halves.right_ * np.sqrt(halves.singular_values_)).T
print(f"rank 20      misses {np.linalg.norm(rank20 - K) / np.linalg.norm(K):.3f} of the matrix of noise-free digits")


def show(image):
    return ["".join(" .:*#"[min(4, max(0, round(4 * v)))] * 2 for v in row) for row in image.reshape(8, 8)]


for lines in zip(show(test[3]), show(noisy[3]), show(back[3]), strict=True):
    print("   ".join(lines))
