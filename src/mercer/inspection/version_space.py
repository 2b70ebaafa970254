"""version_space: all hyperplanes that separate the data, seen from inside.

Every weight vector w of length 1 with y_i <w, phi(x_i)> > 0 for all examples explains the data; together they are the
version space, a piece of the unit sphere that each example cuts with a great circle. Where all |phi(x_i)| are 1, the
support vector machine is the centre of the largest sphere that fits into it, and touches the walls of its support
vectors. The mean of all its points, the Bayes point, decides most like the vote of all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils import check_random_state, column_or_1d

from mercer.expansion import Expansion
from mercer.kernels import Kernel, Linear, Precomputed
from mercer.problem import Problem, Vector
from mercer.samples.base import Array
from mercer.samples.door import in_memory
from mercer.shown import Shown
from mercer.solvers import SMO, NotSeparableError
from mercer.solvers.lapack import eigh

#: Samples at most: the method works with their whole matrix.
MOST = 2000
#: Walks that run side by side; their agreement tells whether they are long enough.
WALKS = 32
#: Margins below this share of 1 count as none.
NO_MARGIN = 1e-6


@dataclass(frozen=True, eq=False)
class VersionSpace(Shown):
    """What ``version_space`` found; ``print`` it, ``plot`` it. Weights are in coordinates of the examples' span.

    >>> space = version_space([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [3.0, 2.0]], [0, 0, 1, 1])
    >>> bool((space.hyperplanes @ space.walls.T > 0).all())  # every one of them separates the classes
    True
    >>> space.bayes_radius <= space.radius  # no sphere inside is larger than the SVM's
    True
    """

    #: The two machines, as functions of new samples without a bias; positive for the second class.
    svm: Expansion
    bayes_point: Expansion
    classes: Array
    #: The radius of the inscribed sphere as an angle: how far every wall is from the SVM, at least; and from the Bayes
    #: point; and the angle between the two. In radians.
    radius: float
    bayes_radius: float
    angle: float
    #: How many walls the inscribed sphere touches.
    touched: int
    #: Dimension of the span, and the Gelman-Rubin statistic: near 1 if the walks agree on where the space is.
    dimension: int
    mixing: float
    #: Sampled weights of length 1, one per row; the examples' y_i phi(x_i), one per row; the centres.
    hyperplanes: Vector = field(repr=False)
    walls: Vector = field(repr=False)
    centre: Vector = field(repr=False)
    mean: Vector = field(repr=False)

    def __str__(self) -> str:
        note = "" if self.mixing < 1.1 else "; more samples are needed for a trustworthy Bayes point"
        return "\n".join(
            [
                f"version space of {len(self.walls)} examples in {self.dimension} dimensions",
                f"  SVM: every wall at least {np.degrees(self.radius):.3g} degrees away, {self.touched} touched",
                f"  Bayes point: {np.degrees(self.angle):.3g} degrees from the SVM, nearest wall "
                f"{np.degrees(self.bayes_radius):.3g} degrees away",
                f"  {len(self.hyperplanes)} hyperplanes sampled, Gelman-Rubin {self.mixing:.3f}{note}",
            ]
        )

    def plot(self, ax: Any = None) -> Any:
        """The version space from its centre: the plane that touches the sphere at the SVM, walls as straight lines.

        In three dimensions, as of points of a plane with a bias, this is all of it. In more, it is the section through
        the SVM and the Bayes point along which the samples vary most, and the samples are projected onto it.
        """
        import matplotlib.pyplot as plt
        from matplotlib.patches import Circle

        if self.dimension < 3:
            raise ValueError(f"a picture needs at least 3 dimensions, but the examples span {self.dimension}")
        ax = plt.subplots(figsize=(6, 6))[1] if ax is None else ax
        axes = self._axes()
        along = self.walls @ self.centre
        across = self.walls @ axes.T
        points = (self.hyperplanes @ axes.T) / (self.hyperplanes @ self.centre)[:, None]
        mean = (axes @ self.mean) / (self.mean @ self.centre)
        extent = 1.2 * max(np.quantile(np.abs(points), 0.995), 1.5 * np.tan(self.radius))
        ends = np.array([-4.0, 4.0]) * extent
        touching = np.isclose(along, np.sin(self.radius), rtol=1e-3)
        for distance, normal, hit in zip(along, across, touching, strict=True):
            size = np.linalg.norm(normal)
            if size * 2 * extent > distance:  # the wall crosses the picture: distance + <normal, u> = 0
                foot, tangent = -distance * normal / size**2, np.array([-normal[1], normal[0]]) / size
                line = foot + ends[:, None] * tangent
                ax.plot(*line.T, color="black" if hit else "0.7", lw=1.2 if hit else 0.6, zorder=2)
        ax.scatter(*points.T, s=4, color="tab:blue", alpha=0.25, lw=0, zorder=1, label="hyperplanes")
        ax.add_patch(Circle((0, 0), np.tan(self.radius), fill=False, color="tab:red", lw=1.5, zorder=3))
        ax.plot(0, 0, "o", color="tab:red", zorder=4, label="SVM and inscribed sphere")
        ax.plot(*mean, "*", color="tab:orange", ms=13, mec="black", zorder=4, label="Bayes point")
        ax.set(xlim=(-extent, extent), ylim=(-extent, extent), aspect="equal", xticks=[], yticks=[])
        ax.set_title(
            "version space" if self.dimension == 3 else f"version space, a section of {self.dimension} dimensions"
        )
        ax.legend(loc="upper right", fontsize=8)
        return ax

    def _axes(self) -> Vector:
        """Two unit vectors at right angles to the SVM: towards the Bayes point, and where the samples vary most."""
        spread = self.hyperplanes - np.outer(self.hyperplanes @ self.centre, self.centre)
        towards = self.mean - (self.mean @ self.centre) * self.centre
        found = []
        for k in range(2):
            first = towards if k == 0 and np.linalg.norm(towards) > 1e-9 else np.linalg.svd(spread)[2][0]
            found.append(first / np.linalg.norm(first))
            spread = spread - np.outer(spread @ found[-1], found[-1])
        return np.stack(found)


def version_space(
    X: Any, y: Any, kernel: Kernel | None = None, *, samples: int = 2000, random_state: Any = 0
) -> VersionSpace:
    """Samples the hyperplanes that separate two classes, and finds the SVM and the Bayes point among them.

    The kernel (``Linear()`` by default) gets a constant feature for the bias and is normalised, (k + 1).normalized(),
    so that all |phi(x)| are 1 and the support vector machine is the centre of the largest inscribed sphere: the maximum
    over |w| = 1 of min_i y_i <w, phi(x_i)>, that is the point nearest to 0 of the convex hull of the y_i phi(x_i).
    The samples are from hit-and-run walks in the cone of consistent weights within the unit ball, which give uniform
    directions; there are as many steps between samples as dimensions. Classes that no hyperplane separates raise
    ``NotSeparableError``, a kernel that is not positive semi-definite on these examples a ``ValueError``.

    References
    ----------
    Herbrich, Graepel, Campbell, "Bayes point machines", Journal of Machine Learning Research 2001.
    Smith, "Efficient Monte Carlo procedures for generating points uniformly distributed over bounded regions",
    Operations Research 1984.

    Examples
    --------
    >>> space = version_space([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [3.0, 2.0]], [0, 0, 1, 1])
    >>> print(space)
    version space of 4 examples in 3 dimensions
      SVM: every wall at least 27.7 degrees away, 2 touched
      Bayes point: ... degrees from the SVM, nearest wall ... degrees away
      2016 hyperplanes sampled, Gelman-Rubin 1.0...
    >>> space.bayes_point([[2.5, 1.0], [0.5, 1.0]]) > 0
    array([ True, False])
    """
    labels = np.asarray(column_or_1d(in_memory(y, "y")))
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) != 2:
        raise ValueError(f"a version space is of two classes, but y has {len(classes)}")
    base = (Linear() if kernel is None else kernel) + 1.0
    known = base.samples(X)
    if len(known) != len(labels):
        raise ValueError(f"X has {len(known)} samples but y has {len(labels)} labels")
    if len(known) > MOST:
        raise ValueError(f"a version space is computed for at most {MOST} samples, not {len(known)}; choose some")
    full = base.resolve(known).normalized()
    K = full.gram(known, budget=0).exact.to_dense()
    values, U = eigh(K)
    if values[0] < -10 * len(K) * float(np.finfo(known.dtype).eps) * values[-1]:
        raise ValueError(
            f"{full} is not positive semi-definite on these examples (an eigenvalue is {values[0]:.3g}, the largest "
            f"{values[-1]:.3g}), so they lie in no space that hyperplanes could cut; use mercer.kernels.repair(kernel)"
        )
    spanned = values > len(K) * 1e-14 * values[-1]
    roots = np.sqrt(values[spanned])
    sign = np.where(codes == 1, 1.0, -1.0)
    walls = sign[:, None] * (U[:, spanned] * roots)
    centre = inscribed(K, sign, walls)
    hyperplanes, mixing = sampled(walls, centre, samples, check_random_state(random_state))
    mean = hyperplanes.mean(axis=0)
    mean /= np.linalg.norm(mean)
    margin, bayes_margin = (float((walls @ w).min()) for w in (centre, mean))
    back = U[:, spanned] / roots  # from coordinates to coefficients of the examples
    return VersionSpace(
        svm=Expansion.of(full, known, back @ centre),
        bayes_point=Expansion.of(full, known, back @ mean),
        classes=classes,
        radius=float(np.arcsin(margin)),
        bayes_radius=float(np.arcsin(bayes_margin)),
        angle=float(np.arccos(min(centre @ mean, 1.0))),
        touched=int(np.isclose(walls @ centre, margin, rtol=1e-3).sum()),
        dimension=int(spanned.sum()),
        mixing=mixing,
        hyperplanes=hyperplanes,
        walls=walls,
        centre=centre,
        mean=mean,
    )


def inscribed(K: Vector, sign: Vector, walls: Vector) -> Vector:
    """The unit vector with the largest min_i <walls_i, w>: the direction of their convex hull's point nearest to 0.

    minimise 1/2 a' (yy' K) a   subject to  sum a = 1, 0 <= a <= 1
    """
    gram = Precomputed().gram(K * np.outer(sign, sign))
    (solution,) = SMO(tol=1e-9).solve(gram, [Problem(np.zeros(len(K)), lower=0.0, upper=1.0, total=1.0)])
    nearest = solution.coefficients @ walls
    size = float(np.linalg.norm(nearest))
    if size < NO_MARGIN or (walls @ nearest).min() < NO_MARGIN * size:
        raise NotSeparableError(
            "no hyperplane separates the classes in the space of this kernel, so the version space is empty; "
            "use a richer kernel or leave out the examples that overlap"
        )
    return np.asarray(nearest / size)


def sampled(walls: Vector, start: Vector, samples: int, random: Any) -> tuple[Vector, float]:
    """Directions uniform in the cone <walls_i, w> > 0, and the Gelman-Rubin statistic of the walks that found them.

    A step of hit-and-run goes to a uniform point of the chord in a random direction, which the walls and the unit
    sphere bound. All walks start at the centre; the first half of each is forgotten.
    """
    d = walls.shape[1]
    kept = -(-samples // WALKS)
    w = np.tile(start / 2, (WALKS, 1))
    found = np.empty((2 * kept, WALKS, d))
    for step in range(2 * kept):
        for _ in range(max(d, 4)):
            u = random.standard_normal((WALKS, d))
            u /= np.linalg.norm(u, axis=1, keepdims=True)
            room, rate = w @ walls.T, u @ walls.T  # room + t rate >= 0
            with np.errstate(divide="ignore"):
                t = -room / rate
            low = np.where(rate > 0, t, -np.inf).max(axis=1)
            high = np.where(rate < 0, t, np.inf).min(axis=1)
            along = (w * u).sum(axis=1)
            root = np.sqrt(along**2 + 1 - (w * w).sum(axis=1))
            low, high = np.maximum(low, -along - root), np.minimum(high, root - along)
            w = w + (low + (high - low) * random.uniform(size=WALKS))[:, None] * u
        found[step] = w / np.linalg.norm(w, axis=1, keepdims=True)
    chains = found[kept:]
    return chains.reshape(-1, d), agreement(chains)


def agreement(chains: Vector) -> float:
    """Gelman and Rubin's statistic, the worst over the coordinates (Statistical Science 1992)."""
    n = len(chains)
    if n < 2:
        return np.inf
    within = chains.var(axis=0, ddof=1).mean(axis=0)
    between = chains.mean(axis=0).var(axis=0, ddof=1)
    return float(np.sqrt((n - 1) / n + between / np.maximum(within, 1e-300)).max())
