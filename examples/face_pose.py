"""Pan and tilt of a head from gradient histograms (HOG): multi-output kernel ridge and two SVRs on 698 pictures."""

import os
import tempfile
from pathlib import Path

import numpy as np

from mercer import SVR, KernelRidge
from mercer.kernels import Gaussian

try:
    import matplotlib.pyplot as plt
    from skimage.feature import hog
except ImportError as error:
    raise SystemExit(f"skipped: {error.name} is missing; pip install mercer[images,plots]") from None
if not (file := Path(os.environ.get("MERCER_DATA", "")) / "isomap_faces.npz").exists():
    raise SystemExit("skipped: set MERCER_DATA to the folder that holds isomap_faces.npz")
data = np.load(file)
order = np.random.default_rng(0).permutation(698)[:: 3 if os.environ.get("MERCER_SMALL") else 1]
pixels, pose = data["X"][order].astype(float), data["y"][order]
gradients = np.array([hog(p.reshape(32, 32), 6, (6, 6), (5, 5)) for p in pixels])
X, h = np.hstack([gradients, np.cbrt(pixels)]), gradients.shape[1]  # lightness, as the eye sees it, is a cube root
test = np.arange(len(X)) % 4 == 0  # cells, widths and weight below are by leave-one-out on the others
widths = [Gaussian("median").resolve(part[~test]).sigma for part in (X[:, :h], X[:, h:])]
histograms, raw = Gaussian(0.7 * widths[0]).on(range(h)), Gaussian(0.7 * widths[1]).on(range(h, X.shape[1]))
for name, kernel in {"HOG": histograms, "pixels": raw, "both": 0.03 * histograms + raw}.items():
    ridge = KernelRidge(alpha=1e-4, kernel=kernel, fit_intercept=True).fit(X[~test], pose[~test])
    tubes = [SVR(C=100, epsilon=0.01, kernel=kernel).fit(X[~test], angle) for angle in pose[~test].T]
    found = {"ridge": ridge.predict(X[test]), "SVR": np.stack([tube.predict(X[test]) for tube in tubes], axis=1)}
    for machine, angles in found.items():
        pan, tilt = np.abs(angles - pose[test]).mean(axis=0)
        print(f"{name:7s} {machine:6s} mean absolute error: pan {pan:.3f}, tilt {tilt:.3f} standard deviations")

figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
for k, angle in enumerate(("pan", "tilt")):
    axes[k].plot(pose[test, k], found["ridge"][:, k], ".")
    axes[k].set(xlabel=f"true {angle}", ylabel=f"predicted {angle}")
figure.savefig(picture := Path(tempfile.gettempdir()) / "face_pose.png")
print("pixels beat HOG on these renderings of one head without clutter; picture:", picture)
