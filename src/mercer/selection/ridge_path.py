"""Kernel ridge regression on all splits of the same samples, for a whole path of penalties.

Let G be the inverse of K + alpha / W on some samples, and T those of them that a split does not train on. What the
machine of the other samples misses at T is e = (G_TT)^-1 (G y)_T, and its coefficients are G (y - P_T e), which are
zero at T: a block of an inverse is the inverse of what the rest leaves (Rifkin and Lippert, "Notes on regularized least
squares", 2007, for one sample). One eigendecomposition of W^1/2 K W^1/2 gives the blocks of all splits and penalties. A
bias puts G - G 1 1'G / (1'G 1) in the place of G.

Nothing is believed of it. The residual of every solution is computed in float64, from K itself, and the system is
solved once more with that residual for the right side: only if this moves no value at any sample by more than
``MOVED`` is the solution taken. What is left over is solved as a machine of its own would be, by Cholesky's factor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs

from mercer import costs
from mercer.problem import Problem, Vector, squared
from mercer.selection.submatrix import WholeMatrix
from mercer.selection.values import HeldOutValues
from mercer.solvers import Certificate, Cholesky, certify
from mercer.solvers.cholesky import FAR, InvertibleGram, scale
from mercer.solvers.convexity import judged
from mercer.solvers.diagonalised import DiagonalisedGram
from mercer.solvers.operator import Positions

#: By how much of the largest target a refinement may still move a value of a solution that is taken, ...
MOVED = 1e-9
#: ... and how often it may be refined for that.
ROUNDS = 4
#: Columns that are solved for at a time are at most as many as this, or this share of the samples.
COLUMNS, SHARE = 64, 8

Split = tuple[Any, Any]


def held_out_path(
    K: WholeMatrix,
    y: Vector,
    alphas: Sequence[Any],
    splits: Sequence[Split],
    weight: Vector | None = None,
    *,
    bias: bool = False,
    train_values: bool = False,
) -> list[list[HeldOutValues]]:
    """What ``KernelRidge`` with every alpha, trained on every split, says at its test rows: a list for each split.

    ``y`` has one row per sample, and each alpha is a number or one number for each column. Splits are pairs of
    positions; they may overlap, leave samples out or repeat them. A sample of weight zero is never trained on.

    >>> from mercer.kernels import Linear
    >>> K = WholeMatrix(Linear().gram(np.array([[1.0], [2.0], [3.0]])))
    >>> ((one, other),) = held_out_path(K, np.array([1.0, 2.0, 3.5]), [1.0, 5.0], [([0, 1], [2])])
    >>> one.test.round(6), other.test.round(6)
    (array([2.5]), array([1.5]))
    """
    posed = Posed(K, y.reshape(len(y), -1), np.ones(len(y)) if weight is None else weight, bias)
    folds = [Fold.of(posed, *split) for split in splits]
    each = [np.broadcast_to(np.asarray(alpha, dtype=np.float64), posed.y.shape[1]) for alpha in alphas]
    wanted: dict[float, Positions] = {
        float(alpha): np.flatnonzero([any(a[j] == alpha for a in each) for j in range(posed.y.shape[1])])
        for alpha in np.unique(each)
    }
    outcomes = [Outcomes(fold, posed, train_values) for fold in folds]
    for rows, numbers in shared(posed, folds, len(wanted)):
        system = SharedSystem(posed, rows, [folds[i] for i in numbers])
        for alpha, targets in wanted.items():
            if system.suits(alpha):
                for i, part in zip(numbers, system.solutions(alpha, targets), strict=True):
                    if part is not None:
                        outcomes[i].put(alpha, targets, part)
    for outcome in outcomes:
        outcome.complete(wanted)
    return [[outcome.values(alpha, y.ndim == 1) for alpha in each] for outcome in outcomes]


@dataclass(frozen=True, eq=False)
class Posed:
    """The matrix, targets in columns, weights, and whether there is a bias: the same for all splits."""

    K: WholeMatrix
    y: Vector
    weight: Vector
    bias: bool

    def problem(self, rows: Positions, alpha: float, targets: Positions | int) -> Problem:
        """That of some targets, or of one, and the machine of these rows."""
        return squared(self.y[rows][:, targets], alpha, self.weight[rows], bias=self.bias)


@dataclass(frozen=True, eq=False)
class Fold:
    """The positions of a split: those it trains on, of positive weight, and all it was given as such; test rows."""

    rows: Positions
    train: Positions
    test: Positions

    @classmethod
    def of(cls, posed: Posed, train: Any, test: Any) -> Fold:
        every = np.arange(len(posed.y))
        train, test = every[train], every[test]
        rows = train[posed.weight[train] > 0]
        if not len(rows):
            raise ValueError(f"a split trains on {len(train)} samples, of which none has a positive weight")
        return cls(rows, train, test)

    @property
    def repeats(self) -> bool:
        return len(np.unique(self.rows)) < len(self.rows)


@dataclass(frozen=True, eq=False)
class Part:
    """The values of some targets at all samples, with the bias, and the certificate of each target."""

    values: Vector
    certificates: tuple[Certificate, ...]


@dataclass(eq=False)
class Outcomes:
    """What is known of one split: by alpha and target its values and certificate."""

    fold: Fold
    posed: Posed
    train_values: bool
    known: dict[tuple[float, int], tuple[Vector, Vector | None, Certificate]] = field(default_factory=dict)

    def put(self, alpha: float, targets: Positions, part: Part) -> None:
        test = part.values[self.fold.test]
        train = part.values[self.fold.train] if self.train_values else None
        self.add(alpha, targets, test, train, part.certificates)

    def add(
        self, alpha: float, targets: Positions, test: Vector, train: Vector | None, found: Sequence[Certificate]
    ) -> None:
        for j, target in enumerate(targets.tolist()):
            at_train = None if train is None else train[:, j]
            self.known[alpha, target] = test[:, j], at_train, found[j]

    def complete(self, wanted: dict[float, Positions]) -> None:
        """Solves what is missing as a machine of its own would, by the factor of the training rows' matrix."""
        missing = [alpha for alpha, targets in wanted.items() if (alpha, int(targets[0])) not in self.known]
        if not missing:
            return
        posed, rows = self.posed, self.fold.rows
        system = InvertibleGram(posed.K.of(rows, exact=True))
        shown = [self.fold.test, self.fold.train] if self.train_values else [self.fold.test]
        across = [posed.K.exact[np.ix_(positions, rows)] for positions in shown]
        for alpha in missing:
            targets = wanted[alpha]
            (solution,) = Cholesky().solve(system, [posed.problem(rows, alpha, targets)])
            values = [K @ solution.coefficients + solution.bias for K in across]
            assert isinstance(solution.certificate, tuple)
            self.add(alpha, targets, values[0], values[1] if self.train_values else None, solution.certificate)

    def values(self, alphas: Vector, one: bool) -> HeldOutValues:
        """All targets together, each of its alpha."""
        found = [self.known[float(alpha), j] for j, alpha in enumerate(alphas)]
        test, train, certificates = zip(*found, strict=True)
        if one:
            return HeldOutValues(test[0], train[0], certificates[0])
        at_train = np.stack(train, axis=1) if self.train_values else None
        return HeldOutValues(np.stack(test, axis=1), at_train, certificates)


def shared(posed: Posed, folds: list[Fold], alphas: int) -> list[tuple[Positions, list[int]]]:
    """Which splits are to be solved by one decomposition, on what samples; the others have factors of their own.

    In multiplications: a factor takes n^3 / 6, eigenvectors as much as ``costs.EIGENVECTORS`` of them, a block of m
    rows n m^2 / 2 and its factor.
    """

    def factor(n: int) -> float:
        return n**3 / 6

    positive = posed.weight[posed.weight > 0]
    if positive.max() > FAR * positive.min():
        return []  # the decomposition knows K only as exactly as the heaviest samples allow
    able = [i for i, fold in enumerate(folds) if not fold.repeats]
    if not able:
        return []
    rows = np.unique(np.concatenate([folds[i].rows for i in able]))
    n = len(rows)
    apart, together = {}, {}
    for i in able:
        r, m = len(folds[i].rows), n - len(folds[i].rows)
        apart[i] = min(alphas * factor(r), costs.EIGENVECTORS * factor(r))
        together[i] = alphas * (n * m**2 / 2 + factor(m))
    joined = [i for i in able if together[i] < apart[i]]
    spent = costs.EIGENVECTORS * factor(n) + sum(together[i] for i in joined)
    if spent >= sum(apart[i] for i in joined):
        joined = []
    groups = [(rows, joined)] if joined else []
    alone = [i for i in able if i not in joined and alphas > costs.EIGENVECTORS]
    return groups + [(np.sort(folds[i].rows), [i]) for i in alone]


class SharedSystem:
    """K + alpha / W on some samples by its eigenvectors: for every alpha and all splits that train on some of them."""

    def __init__(self, posed: Posed, rows: Positions, folds: list[Fold]) -> None:
        self.posed, self.rows = posed, rows
        #: For each split the places, among these samples, of those that it does not train on.
        self.outside = [np.flatnonzero(~np.isin(rows, fold.rows)) for fold in folds]
        spectrum = DiagonalisedGram(posed.K.of(rows, exact=True), posed.weight[rows])
        self.values, self.vectors, self.root = spectrum.values, spectrum.vectors, spectrum.root[:, None]
        self.ones = self.vectors.T @ self.root  # in coordinates of the eigenvectors
        self.y = posed.y[rows]

    def suits(self, alpha: float) -> bool:
        """Whether K + alpha is positive definite, and no factor of it or of a part would be refused as singular."""
        lowest, largest = self.values[0] + alpha, np.abs(self.values).max() + alpha
        eps = float(np.finfo(np.float64).eps)
        return bool(lowest > 0 and largest * len(self.rows) * eps <= lowest)

    def solutions(self, alpha: float, targets: Positions) -> Iterator[Part | None]:
        """For each split its solution, or None if it could not be had to full precision; some splits at a time."""
        at_once = max(1, max(COLUMNS, len(self.rows) // SHARE) // len(targets))
        for start in range(0, len(self.outside), at_once):
            yield from self._together(alpha, self.outside[start : start + at_once], targets)

    def _together(self, alpha: float, outside: list[Positions], targets: Positions) -> Iterator[Part | None]:
        iterate = Iterate(self, alpha, [OutsideBlock(self, alpha, places) for places in outside], self.y[:, targets])
        for _ in range(ROUNDS):
            iterate.refine()
            if iterate.settled.all():
                break
        for j, (places, settled) in enumerate(zip(outside, iterate.settled, strict=True)):
            yield self._part(alpha, places, targets, iterate, j) if settled else None

    def _part(self, alpha: float, outside: Positions, targets: Positions, iterate: Iterate, j: int) -> Part | None:
        """A solution with the certificates that ``Cholesky`` gives it."""
        inside = np.ones(len(self.rows), dtype=bool)
        inside[outside] = False
        rows, f = self.rows[inside], iterate.f[:, j]
        values, certificates = np.empty_like(f), []
        K = self.posed.K.of(rows, exact=True)
        for t, target in enumerate(targets.tolist()):
            problem = self.posed.problem(rows, alpha, target)
            limit = Cholesky.tol * scale(problem.q)
            a, product = iterate.a[inside, j, t], f[rows, t]
            solution = certify(problem, a, product, iterate.rounds, limit)
            assert isinstance(solution.certificate, Certificate)
            if not solution.certificate.converged:
                return None
            values[:, t] = f[:, t] + solution.bias
            certificates.append(judged(solution.certificate, K, problem, a, product))
        return Part(values, tuple(certificates))


class OutsideBlock:
    """The samples of a system that a split does not train on, and the factor of G there, the bias eliminated."""

    def __init__(self, system: SharedSystem, alpha: float, places: Positions) -> None:
        self.places = places
        self.vectors = system.vectors[places]
        inverse = 1 / (system.values + alpha)
        scaled = self.vectors * np.sqrt(inverse)
        # NumPy's and SciPy's BLAS have threads of their own, which get in each other's way where calls take turns.
        G = dsyrk(1.0, scaled.T, trans=1, lower=1)
        if system.posed.bias:
            self.column = self.vectors @ (inverse[:, None] * system.ones)  # G 1 at these samples
            self.total = float(np.sum(inverse[:, None] * system.ones**2))  # 1'G 1 of all
            G -= self.column * self.column.T / self.total
        self.definite = True
        if len(places):
            self.factor, info = dpotrf(G, lower=1, overwrite_a=1)
            self.definite = info == 0

    def solve(self, right: Vector, sums: Vector) -> tuple[Vector, Vector | float]:
        """What must be taken from the right side at these samples so that they get no coefficients, and the bias.

        ``right`` is G times the right side at these samples, ``sums`` its sum over all; both without the bias.
        """
        if not hasattr(self, "total"):
            return self._solved(right), 0.0
        taken = self._solved(right - self.column * (sums / self.total))
        return taken, (sums - self.column.T @ taken) / self.total

    def _solved(self, right: Vector) -> Vector:
        return np.asarray(dpotrs(self.factor, right, lower=1)[0]) if len(right) else right


class Iterate:
    """Where the solutions of some splits are: a, f = K a at all samples, and bias, by sample, split and target."""

    def __init__(self, system: SharedSystem, alpha: float, blocks: list[OutsideBlock], y: Vector) -> None:
        self.system, self.alpha, self.blocks = system, alpha, blocks
        self.y = y[:, None, :]
        shape = len(y), len(blocks), y.shape[1]
        self.a = np.zeros(shape)
        self.f = np.zeros((len(system.posed.y), *shape[1:]))
        self.bias = np.zeros(shape[1:])
        self.scale = np.abs(y).max(axis=0)
        self.settled = np.zeros(len(blocks), dtype=bool)
        self.possible = np.array([block.definite for block in blocks])
        self.rounds = 0

    def refine(self) -> None:
        """One step of Newton's method for all splits that have not settled."""
        system = self.system
        which = np.flatnonzero(self.possible & ~self.settled)
        if not len(which):
            return
        shape = len(system.rows), len(which), self.y.shape[2]
        residual = self._residual(which)
        inverse = 1 / (system.values + self.alpha)[:, None]
        p = (inverse * (system.vectors.T @ residual.reshape(len(residual), -1))).reshape(shape)
        bias = self.bias[which]
        for j, number in enumerate(which.tolist()):
            block = self.blocks[number]
            sums = system.ones.T @ p[:, j] + self.a[:, number].sum(axis=0)
            taken, change = block.solve(block.vectors @ p[:, j], sums)
            p[:, j] -= inverse * (block.vectors.T @ taken + system.ones * change)
            bias[j] += np.ravel(change)
        moved = (system.vectors @ p.reshape(len(p), -1)).reshape(shape)
        a = self.a[:, which] + system.root[:, :, None] * moved
        for j, number in enumerate(which.tolist()):
            a[self.blocks[number].places, j] = 0.0
        everywhere = np.zeros((len(self.f), shape[1] * shape[2]))
        everywhere[system.rows] = a.reshape(len(a), -1)
        f = (system.posed.K.exact @ everywhere).reshape(len(self.f), *shape[1:])
        change = np.abs(f + bias - self.f[:, which] - self.bias[which]).max(axis=0)
        self.a[:, which], self.f[:, which], self.bias[which] = a, f, bias
        self.rounds += 1
        if self.rounds > 1:
            self.settled[which] = (change <= MOVED * self.scale).all(axis=1)

    def _residual(self, which: Positions) -> Vector:
        """y - f - b - ridge a, times the root of the weight; where a split does not train, none."""
        root = self.system.root[:, :, None]
        f = self.f[self.system.rows][:, which] + self.bias[which]
        out: Vector = root * (self.y - f) - self.alpha * self.a[:, which] / root
        for j, number in enumerate(which.tolist()):
            out[self.blocks[number].places, j] = 0.0
        return out
