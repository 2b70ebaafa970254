"""MahalanobisLearner: which differences between samples matter, learnt from their labels.

A Gaussian kernel with one width treats all directions of the data alike. The learner stretches those that tell classes
apart and shrinks the others; the kernel machine used afterwards knows nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.callback import CallbackSupportMixin
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data
from threadpoolctl import threadpool_limits

from mercer.expansion import Expansion
from mercer.kernels import Gaussian
from mercer.kernels.distances import Mahalanobis
from mercer.machines.base import Stages
from mercer.machines.fit import Fit, Fitted, InputFeatures, fit_of, view
from mercer.problem import Vector, squared
from mercer.remembered import remembered
from mercer.samples.base import Array
from mercer.samples.door import in_memory
from mercer.solvers import Cholesky
from mercer.solvers.lapack import factorize, inverse_by

#: The penalty alpha and the scale of the metric, on a logarithmic scale, stay within these.
PENALTIES = (np.log(1e-4), np.log(10.0))
SCALES = (-3.0, 3.0)
#: The most samples on which the best scale and penalty of the isotropic metric, where all others start, are found.
FIRST = 150
#: How many standard errors a learnt metric must be better by.
SURE = 1.0
#: The kernel of samples that the metric has transformed.
KERNEL = Gaussian(1.0)
#: Directions are shrunk at most to this share of the widest.
FLOOR = 1e-3


@dataclass(frozen=True, eq=False, kw_only=True)
class MetricFit(Fit):
    """The factor A of a metric, and those that were learnt without each part of the data."""

    classes: Array
    structure: str
    factor: Vector
    errors: dict[str, float]
    parts: tuple[dict[str, Array], ...]

    @property
    def n_features_out(self) -> int:
        return int(self.factor.shape[1])

    @remembered
    def distance(self) -> Mahalanobis:
        return Mahalanobis(factor=np.linalg.pinv(self.factor.T))

    @property
    def folds(self) -> list[Fold]:
        return [Fold(**part) for part in self.parts]


class MahalanobisLearner(
    Fitted,
    CallbackSupportMixin,  # type: ignore[misc]
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Learns the matrix S of a Mahalanobis distance, D^2 = (x - z)' S^-1 (x - z), from class labels.

    Writes S^-1 = A A' and minimises over A and alpha the squared leave-one-out errors of kernel ridge regression of the
    class indicators Y (one column per class, centred) with the Gaussian kernel of that distance:

        sum_i |r_i|^2,   r_i = (P Y)_i / P_ii,   P = (K + alpha I)^-1,   K_ij = exp(-|A'(x_i - x_j)|^2 / 2)

    by a few steps of L-BFGS from the best isotropic A = s I. Stopping early keeps A near it. A may be diagonal, which
    is one width per feature, or full. The data are cut into ``cv`` parts, a metric is learnt without each of them, and
    S^-1 is the mean of theirs: what one of them owes to chance, the others do not repeat. With ``structure="auto"``
    the metrics are judged on the parts they were learnt without, and a structure is taken only if it lowers the error
    of the isotropic metric by a share of ``worth`` and by a standard error; else S is a multiple of the identity, so
    that nothing is lost where little can be learnt. Features should have comparable scales, as after
    ``StandardScaler``.

    S is scaled so that the mean of D^2 over pairs of samples is 2: ``Exponential(distance_, beta)`` is a sensible
    kernel with beta = 2, and beta is the width to tune.

    Parameters
    ----------
    structure : {"auto", "diagonal", "full"}, default="auto"
        What A is; "diagonal" and "full" are learnt without judging them.
    rank : int or None, default=None
        The number of columns of A. If less than that of features, A maps samples to the directions along which they
        differ most by the learnt metric, and differences along others do not count; None keeps all.
    steps : int, default=16
        Steps of L-BFGS.
    max_samples : int, default=400
        Of more samples, ``max_samples`` are chosen at random for each metric; a step costs their number cubed.
    cv : int, default=3
        Parts of the data.
    worth : float, default=0.1
        The share of the isotropic metric's error that a learnt one must save to be taken.
    random_state : int, RandomState instance or None, default=0
        For the choice of samples and of parts.
    verbose : bool, default=False
        Write a line for each part of the data that begins. scikit-learn's callbacks (``set_callbacks``) are told the
        same.

    Attributes
    ----------
    distance_ : Mahalanobis
        For ``Exponential``.
    factor_ : ndarray of shape (n_features, rank)
        A: ``transform`` gives X A, whose Euclidean distances are D.
    structure_ : {"isotropic", "diagonal", "full"}
        What was chosen.
    errors_ : dict
        With "auto", for each structure the mean squared error on parts that were not learnt from.
    folds_ : list of Fold
        For each part, ``kept``, ``held`` and ``factor``: A as learnt from the samples kept. By them the parameters of a
        machine are tuned on samples that its metric has not seen.
    classes_ : ndarray
        The labels.

    References
    ----------
    Cawley, Talbot, "Preventing over-fitting during model selection via Bayesian regularisation of the
    hyper-parameters", Journal of Machine Learning Research 8, 2007: leave-one-out errors of kernel ridge regression as
    a function of many widths, by gradients.
    Chapelle, Vapnik, Bousquet, Mukherjee, "Choosing multiple parameters for support vector machines", Machine Learning
    46, 2002.
    Breiman, "Bagging predictors", Machine Learning 24, 1996: means over parts of the data.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC, MahalanobisLearner
    >>> from mercer.kernels import Exponential
    >>> X = np.random.default_rng(0).standard_normal((120, 5))
    >>> y = X[:, 0] * X[:, 1] > 0  # three columns are noise
    >>> learner = MahalanobisLearner().fit(X, y)
    >>> learner.structure_, np.abs(np.diag(learner.factor_)).argsort()[-2:] < 2
    ('diagonal', array([ True,  True]))
    >>> SVC(C=10, kernel=Exponential(learner.distance_, beta=2)).fit(X, y).score(X, y) > 0.95
    True
    >>> MahalanobisLearner(rank=2).fit_transform(X, y).shape
    (120, 2)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "structure": [StrOptions({"auto", "diagonal", "full"})],
        "rank": [Interval(Integral, 1, None, closed="left"), None],
        "steps": [Interval(Integral, 1, None, closed="left")],
        "max_samples": [Interval(Integral, 2, None, closed="left")],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "worth": [Interval(Real, 0.0, 1.0, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    distance_, factor_, structure_, errors_, folds_, classes_ = view(), view(), view(), view(), view(), view()
    _n_features_out = view()

    def __init__(
        self,
        *,
        structure: str = "auto",
        rank: int | None = None,
        steps: int = 16,
        max_samples: int = 400,
        cv: int = 3,
        worth: float = 0.1,
        random_state: Any = 0,
        verbose: bool | int = False,
    ) -> None:
        self.structure = structure
        self.rank = rank
        self.steps = steps
        self.max_samples = max_samples
        self.cv = cv
        self.worth = worth
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> Self:
        """Learns the metric from samples X with labels y."""
        context = self._init_callback_context(max_subtasks=None)
        given = dict(X=X, y=y)
        context.call_on_fit_task_begin(estimator=self, **given)
        features = InputFeatures(self)
        X, y = validate_data(features, in_memory(X), in_memory(y, "y"), dtype=np.float64)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"a metric is learnt from at least 2 classes, but y has one class: {classes.tolist()[0]!r}"
            )
        if self.rank is not None and self.rank > X.shape[1]:
            raise ValueError(f"rank is {self.rank}, but X has only {X.shape[1]} features; rank=None keeps them all")
        with threadpool_limits(1, user_api="blas"):  # small matrices; and rounding must not decide what is chosen
            A, facts = self._learnt(X, codes, Stages(self, context))
        self._fit = MetricFit(**features.found(), classes=classes, factor=finished(X, A, self.rank), **facts)
        context.call_on_fit_task_end(estimator=self, **given, reconstruction_attributes={})
        return self

    def _learnt(self, X: Vector, codes: Array, stages: Stages) -> tuple[Vector, dict[str, Any]]:
        """The mean of the metrics that are learnt without each part, and what else is to be kept."""
        if X.shape[1] < 2 or np.sort(np.bincount(codes))[-2] < 2:
            # no directions to tell apart, or nothing to tell them apart by
            return np.eye(X.shape[1]), {"structure": "isotropic", "errors": {}, "parts": ()}
        names = ("isotropic", "diagonal", "full") if self.structure == "auto" else (self.structure,)
        random = check_random_state(self.random_state)
        x, Y = X - X.mean(axis=0), indicators(codes, int(codes.max()) + 1)
        x *= scale(x)
        found, errors = [], np.zeros((len(names), len(x)))
        for number, (kept, held) in enumerate(parts(codes, self.cv, random), 1):
            some = random.permutation(kept)[: self.max_samples]
            stages.begin(f"part {number} of {self.cv}: {', '.join(names)} from {len(some)} samples")
            machines = learnt(x[some], Y[some], names, self.steps)
            for error, machine in zip(errors, machines, strict=True):
                error[held] = ((machine(x[held]) - Y[held]) ** 2).sum(axis=1)
            found.append((kept, held, [machine.metric for machine in machines]))
        chosen, means = (0, {}) if self.structure != "auto" else self._judged(names, errors)
        folds = tuple(
            {"kept": kept, "held": held, "factor": finished(X[kept], A[chosen], self.rank)} for kept, held, A in found
        )
        facts = {"structure": names[chosen], "errors": means, "parts": folds}
        return mean_metric([finished(x, A[chosen]) for _, _, A in found]), facts

    def _judged(self, names: tuple[str, ...], errors: Vector) -> tuple[int, dict[str, float]]:
        """The structure whose errors on parts not learnt from are smallest, if by enough, else the first; and all."""
        means = errors.mean(axis=1)
        gains = errors[0] - errors
        least = np.maximum(SURE * gains.std(axis=1) / np.sqrt(errors.shape[1]), self.worth * means[0])
        sure = gains.mean(axis=1) > least
        said = {name: float(mean) for name, mean in zip(names, means, strict=True)}
        return int(np.argmin(np.where(sure, means, np.inf))) if sure.any() else 0, said

    def transform(self, X: Any) -> Array:
        """X A: samples whose Euclidean distances are the learnt ones."""
        fit = fit_of(self)
        X = validate_data(InputFeatures(self, fit), in_memory(X), reset=False, dtype=np.float64)
        return np.asarray(X @ fit.factor)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def indicators(codes: Array, classes: int) -> Vector:
    """One column per class, centred; of two classes one says it all."""
    Y = (codes[:, None] == np.arange(classes)).astype(np.float64)
    Y -= Y.mean(axis=0)
    return np.asarray(Y[:, 1:] if classes == 2 else Y)


@dataclass(frozen=True, eq=False)
class Fold:
    """Samples learnt from, samples not learnt from, and the factor A of the metric that was learnt."""

    kept: Array
    held: Array
    factor: Vector


def parts(codes: Array, cv: int, random: Any) -> Iterator[tuple[Array, Array]]:
    """Which samples to learn from and which to judge by, in turn; each part has its share of each class if it can."""
    cv = min(cv, len(codes))
    split = StratifiedKFold if np.bincount(codes).min() >= cv else KFold
    yield from split(cv, shuffle=True, random_state=random.randint(2**31 - 1)).split(codes, codes)


def scale(z: Vector) -> float:
    """What z is to be multiplied by so that the mean squared distance of pairs is 2, twice the variance."""
    variance = float(z.var(axis=0).sum())
    return 1 / np.sqrt(variance) if variance > 0 else 1.0


def finished(X: Vector, A: Vector, rank: int | None = None) -> Vector:
    """A as it is given to the user: scaled, and of this rank, along the principal directions of X A."""
    if rank is not None:
        z = X @ A
        z -= z.mean(axis=0)
        A = A @ np.linalg.eigh(z.T @ z)[1][:, ::-1][:, :rank]
    return A * scale(X @ A)


def mean_metric(factors: list[Vector]) -> Vector:
    """The symmetric A whose A A' is the mean of those of the factors; no direction is shrunk below the floor."""
    squares, U = np.linalg.eigh(np.mean([A @ A.T for A in factors], axis=0))
    return np.asarray((U * np.sqrt(np.maximum(squares, FLOOR**2 * squares[-1]))) @ U.T)


@dataclass(frozen=True, eq=False)
class Learnt:
    """Kernel ridge regression with the metric that was learnt for it."""

    metric: Vector
    #: f of samples that the metric has transformed.
    function: Expansion

    def __call__(self, x: Vector) -> Vector:
        return self.function(x @ self.metric)


def learnt(x: Vector, Y: Vector, structures: tuple[str, ...], steps: int) -> list[Learnt]:
    """Metrics of these structures: the best scale and penalty of the identity, then some steps for all of it."""
    A, alpha = descended(x[:FIRST], Y[:FIRST], "isotropic", 1.0, 0.1, steps)
    if len(x) > FIRST:  # which were cheap, and brought it near
        A, alpha = descended(x, Y, "isotropic", A[0, 0], alpha, max(1, steps // 4))
    found = []
    for structure in structures:
        B, beta = (A, alpha) if structure == "isotropic" else descended(x, Y, structure, A[0, 0], alpha, steps)
        z = KERNEL.samples(x @ B)
        (solution,) = Cholesky().solve(KERNEL.gram(z, budget=0), [squared(Y, beta)])
        found.append(Learnt(B, Expansion(KERNEL, z, solution.coefficients, solution.bias)))
    return found


def descended(x: Vector, Y: Vector, structure: str, scale: float, alpha: float, steps: int) -> tuple[Vector, float]:
    """A = scale B and alpha after some steps of L-BFGS from B = I, of which those entries move that A has."""
    d = x.shape[1]
    B = np.eye(d)
    entries = {"isotropic": np.zeros((d, d)), "diagonal": np.eye(d), "full": np.ones((d, d))}[structure] > 0

    def unpacked(t: Vector) -> tuple[Vector, float, float]:
        moved = B.copy()
        moved[entries] = t[:-2]
        return moved, float(np.exp(t[-2])), float(np.exp(t[-1]))

    def objective(t: Vector) -> tuple[float, Vector]:
        moved, s, penalty = unpacked(t)
        error, by_A, by_alpha = left_out(x, Y, s * moved, penalty)
        return error, np.concatenate([s * by_A[entries], [s * np.sum(by_A * moved), penalty * by_alpha]])

    start = np.concatenate([B[entries], [np.log(scale), np.log(alpha)]])
    bounds: Any = [(None, None)] * (len(start) - 2) + [SCALES, PENALTIES]
    options: Any = {"maxiter": steps}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    moved, s, penalty = unpacked(found.x)
    return s * moved, penalty


def left_out(x: Vector, Y: Vector, A: Vector, alpha: float) -> tuple[float, Vector, float]:
    """The squared leave-one-out errors, relative to |Y|^2, with their derivatives by A and by alpha.

    With P = (K + alpha I)^-1, a = P Y, r_i = a_i / P_ii and v_i = r_i'a_i / P_ii^2, the derivative by K is
    G = 2 (P diag(v) P - P diag(1 / P_ii) r a'), symmetrised; that by A is sum_ij -G_ij K_ij (x_i - x_j)(x_i - x_j)' A.

    The derivative needs all of P, where the errors alone, as ``KernelRidge.loo_residuals`` has them, need its diagonal.
    """
    K = KERNEL(x @ A)
    P = K.copy()
    P.flat[:: len(P) + 1] += alpha
    factorize(P)
    inverse_by(P)
    a, own = P @ Y, P.diagonal()[:, None]
    r = a / own
    v = (r * a / own**2).sum(axis=1)
    G = 2 * ((P * v) @ P - (P @ (r / own)) @ a.T)
    G = (G + G.T) / 2
    size = float((Y**2).sum())
    W = -G * K
    scatter = 2 * (x.T @ (W.sum(axis=1)[:, None] * x) - x.T @ (W @ x))
    return float((r**2).sum()) / size, scatter @ A / size, float(np.trace(G)) / size
