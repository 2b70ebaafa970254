"""Nearest neighbours in the space of a kernel: digits as pictures, and as histograms of their strokes."""

from sklearn.datasets import load_diabetes, load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from mercer import KernelNeighborsClassifier, KernelNeighborsRegressor
from mercer.kernels import Chi2Distance, Exponential, Gaussian, Intersection, Polynomial

X, y = load_digits(return_X_y=True)
X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, random_state=0)

peer = KNeighborsClassifier(3, algorithm="brute").fit(X, y)
print(f"{'scikit-learn, Euclidean distance':34s} {peer.score(X_new, y_new):.4f}")
for kernel in (
    Gaussian("median"),
    Polynomial(3, gamma=0.01).normalized(),
    Intersection().normalized(),
    Exponential(Chi2Distance(), beta=100.0),
):
    machine = KernelNeighborsClassifier(3, kernel=kernel).fit(X, y)
    print(f"{str(machine.kernel_)[:34]:34s} {machine.score(X_new, y_new):.4f}")

distances, index = machine.kneighbors(X_new[:1])
print()
print("the first new digit is a", y_new[0])
for place, (distance, i) in enumerate(zip(distances[0], index[0], strict=True), start=1):
    print(f"neighbour {place} is a {y[i]}, at distance {distance:.3f} in feature space")

X, X_new, y, y_new = train_test_split(*load_diabetes(return_X_y=True), random_state=0)
for weights in ("uniform", "distance"):
    machine = KernelNeighborsRegressor(15, kernel=Gaussian("median"), weights=weights).fit(X, y)
    print(f"progress of diabetes, {weights} mean of 15 neighbours: R2 {machine.score(X_new, y_new):.3f}")
