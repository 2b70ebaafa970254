"""Machines that ask the nearest samples, in the space of a kernel."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import MultiOutputMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_array, check_consistent_length

from mercer.kernels import Kernel, named_kernel
from mercer.kernels.leaf import vectors
from mercer.kernels.named import NAMES
from mercer.kernels.vectors import resolved_gamma
from mercer.machines.base import KernelMachine, warn_indefinite, warn_of_zeros
from mercer.machines.fit import Fit, fit_of, view
from mercer.machines.labels import checked_labels
from mercer.machines.targets import Classifier, Regressor
from mercer.neighbors import Positions, Search, search
from mercer.problem import Vector
from mercer.remembered import remembered
from mercer.samples import Samples
from mercer.samples.base import Array
from mercer.samples.door import in_memory
from mercer.solvers.convexity import by_construction, of_some_rows
from mercer.threads import limited

#: The number of samples whose squared distances to all others are looked at, where the kernel may not be one.
PROBED = 20
#: Queries that are answered at a time.
QUERIES = 4096


@dataclass(frozen=True, eq=False, kw_only=True)
class NeighborsFit(Fit):
    """The training samples with their targets: numbers or, of labels, the positions of their classes."""

    kernel: Kernel
    samples: Samples
    targets: Array
    classes: Array | None = None

    @property
    def n_samples_fit(self) -> int:
        return len(self.samples)

    @remembered
    def search(self) -> Search:
        """What finds the nearest of the samples, prepared by the native core."""
        return search(self.kernel, self.samples)


class KernelNeighbors(KernelMachine):
    """What the classifier and the regressor share: the training samples, and the search among them."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "kernel": [StrOptions(set(NAMES)), Kernel, callable],
        "weights": [StrOptions({"uniform", "distance"}), callable],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
        "degree": [Interval(Integral, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        kernel: Any = "rbf",
        weights: str | Callable[[Array], Any] = "uniform",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        n_jobs: int | None = None,
        verbose: bool | int = False,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.kernel = kernel
        self.weights = weights
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_jobs = n_jobs
        self.verbose = verbose

    samples_, n_samples_fit_ = view(), view()

    def _targets(self, y: Any) -> dict[str, Any]:
        """The fields of a fit that hold the targets, checked."""
        raise NotImplementedError

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> Self:
        """Keeps the samples X and their targets y."""
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None")
        fit = self._keep(X, self._targets(y))
        fit.search  # noqa: B018  # which refuses what it cannot search
        warn_of_no_distance(fit)
        self._fit = fit
        return self

    def _keep(self, X: Any, targets: dict[str, Any]) -> NeighborsFit:
        """The samples and targets as they are: there is nothing to be solved."""
        X, features = self._admitted(X)
        kernel = self._chosen_kernel(features.count)
        if isinstance(self.gamma, str) and self.kernel in ("rbf", "poly", "polynomial", "sigmoid", "laplacian"):
            gamma = resolved_gamma(self.gamma, vectors(kernel.samples(X)))
            kernel = self._chosen_kernel(features.count, gamma)
        samples = kernel.samples(X)
        check_consistent_length(targets["targets"], range(len(samples)))
        return NeighborsFit(**features.found(), kernel=kernel.resolve(samples), samples=samples.copy(), **targets)

    def _chosen_kernel(self, columns: int, gamma: float | None = None) -> Kernel:
        rate = self.gamma if gamma is None and not isinstance(self.gamma, str) else gamma
        return named_kernel(self.kernel, columns=columns, gamma=rate, degree=self.degree, coef0=self.coef0)

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """The nearest samples of every query, and with ``return_distance`` their distances before them.

        Without X the training samples are the queries, and none is its own neighbour. Of equal distances the sample
        of the smaller number comes first. The distances are those in feature space; of a precomputed matrix they need
        k(x, x), which is known for the training samples only.
        """
        return self._nearest(fit_of(self), X, n_neighbors, return_distance)

    def _nearest(self, fit: NeighborsFit, X: Any, n_neighbors: int | None, return_distance: bool) -> Any:
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        if not isinstance(k, (int, np.integer)) or isinstance(k, bool):
            raise TypeError(f"n_neighbors does not take {type(k)} value, enter integer value")
        if k <= 0:
            raise ValueError(f"Expected n_neighbors > 0. Got {k}")
        own = X is None
        x = fit.samples if own else self._new_samples(X, fit)
        if k + own > fit.n_samples_fit:
            raise ValueError(
                f"Expected n_neighbors {'<' if own else '<='} n_samples_fit, but n_neighbors = {k}, n_samples_fit = "
                f"{fit.n_samples_fit}, n_samples = {len(x)}"
            )
        with limited(self.n_jobs):
            distances, index = self._found(fit, x, k + own, return_distance)
        if own:
            others = index != np.arange(len(x))[:, None]
            others[others.all(axis=1), -1] = False  # at least k equals come before it, so that it was not found itself
            index = index[others].reshape(len(x), k)
            distances = distances[others].reshape(len(x), k) if return_distance else distances
        return (distances, index) if return_distance else index

    def _found(self, fit: NeighborsFit, x: Samples, k: int, distances: bool) -> tuple[Vector, Positions]:
        """Distances (if wanted) and positions, some queries at a time."""
        index = np.empty((len(x), k), dtype=np.int64)
        found = np.empty((len(x), k) if distances else (0, 0))
        for start in range(0, len(x), QUERIES):
            rows = np.arange(start, min(start + QUERIES, len(x)))
            some = x if len(rows) == len(x) else x.take(rows)
            index[rows], values = fit.search.rank(some, k)
            if distances:
                found[rows] = np.sqrt(fit.search.squared(some, values))
            if self.verbose:
                sys.stdout.write(f"{type(self).__name__} {rows[-1] + 1} of {len(x)} queries\n")
        return found, index

    def _weighted(self, fit: NeighborsFit, X: Any) -> tuple[Positions, Vector | None]:
        """The neighbours of every row and their weights; None means that all are equal."""
        if self.weights == "uniform":
            return self._nearest(fit, X, None, False), None
        distances, index = self._nearest(fit, X, None, True)
        if callable(self.weights):
            weight = np.asarray(self.weights(distances), dtype=np.float64)
            if weight.shape != distances.shape:
                raise ValueError(f"weights returned shape {weight.shape} for distances of shape {distances.shape}")
            return index, weight
        zero = distances == 0
        with np.errstate(divide="ignore"):
            weight = 1 / distances
        at = zero.any(axis=1)
        weight[at] = zero[at]  # a neighbour at no distance outweighs all others
        return index, weight


def warn_of_no_distance(fit: NeighborsFit) -> None:
    """Says that the kernel is none, as some squared distances tell, or that it is nothing but zeros."""
    gram = fit.kernel.gram(fit.samples, budget=0)
    warn_of_zeros(fit.kernel, gram.diag(), fit.samples)
    if by_construction(fit.kernel, balanced=True):
        return
    witness = of_some_rows(gram)
    if witness is not None:
        warn_indefinite(fit.kernel, witness, "Squared distances below zero count as zero, so neighbours may be any.")


class KernelNeighborsClassifier(Classifier, KernelNeighbors):
    """The class that most of the nearest samples have, nearest in the space of a kernel.

    The distance is ``|phi(a) - phi(b)|`` with ``|phi(a) - phi(b)|^2 = k(a, a) - 2 k(a, b) + k(b, b)``. For a Gaussian
    the order of the neighbours is that of the Euclidean distance, so with uniform weights the predictions are those of
    scikit-learn's ``KNeighborsClassifier``; other kernels make neighbours of strings, graphs, tables and histograms.

    Parameters
    ----------
    n_neighbors : int, default=5
        How many samples are asked.
    kernel : str, Kernel or callable, default="rbf"
        A name ("linear", "poly", "rbf", "sigmoid", "precomputed" ...), any kernel of ``mercer.kernels``, or a function
        of two samples.
    weights : "uniform", "distance" or callable, default="uniform"
        The weights of the votes: all 1, or 1 / distance (if a sample is at distance 0, only such samples count), or a
        function from an array of distances to one of weights.
    gamma, degree, coef0 : for the names, as in ``SVC``.
    n_jobs : int, default=None
        Threads; -1 for all processors, None for the number mercer is set to.
    verbose : bool, default=False
        Whether to write to the standard output how many queries have been answered.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    kernel_ : Kernel
        The kernel, its data-dependent parameters found.
    samples_ : Samples
        The training samples.
    n_samples_fit_ : int
        How many there are.

    References
    ----------
    Cover, Hart, "Nearest neighbor pattern classification", IEEE Transactions on Information Theory 1967.
    Yu, Ji, Zhang, "Kernel nearest-neighbor algorithm", Neural Processing Letters 2002.

    Examples
    --------
    >>> from mercer import KernelNeighborsClassifier
    >>> words = ["banana", "bananas", "cherry", "cherries"]
    >>> shared = Custom(lambda a, b: len(set(a) & set(b)), pairwise=True)
    >>> machine = KernelNeighborsClassifier(1, kernel=shared).fit(words, ["yellow", "yellow", "red", "red"])
    >>> machine.predict(["ananas", "sherry"])
    array(['yellow', 'red'], dtype='<U6')
    """

    classes_ = view()

    def _targets(self, y: Any) -> dict[str, Any]:
        classes, codes = np.unique(checked_labels(y), return_inverse=True)
        return {"targets": codes, "classes": classes}

    def predict_proba(self, X: Any) -> Array:
        """The share of every class in the votes, in the order of ``classes_``."""
        return shares(self._votes(fit_of(self), X))

    def _votes(self, fit: NeighborsFit, X: Any) -> Vector:
        assert fit.classes is not None
        index, weight = self._weighted(fit, X)
        votes = np.zeros((len(index), len(fit.classes)))
        row = np.repeat(np.arange(len(index)), index.shape[1])
        np.add.at(votes, (row, fit.targets[index].ravel()), 1.0 if weight is None else weight.ravel())
        return votes

    def predict(self, X: Any) -> Array:
        """The class with the most votes; of equal ones the first in ``classes_``."""
        fit = fit_of(self)
        return np.asarray(fit.classes[self._votes(fit, X).argmax(axis=1)])


class KernelNeighborsRegressor(MultiOutputMixin, Regressor, KernelNeighbors):  # type: ignore[misc]
    """The mean of the targets of the nearest samples, nearest in the space of a kernel.

    The distance is ``|phi(a) - phi(b)|`` with ``|phi(a) - phi(b)|^2 = k(a, a) - 2 k(a, b) + k(b, b)``. For a Gaussian
    the order of the neighbours is that of the Euclidean distance, so with uniform weights the predictions are those of
    scikit-learn's ``KNeighborsRegressor``.

    Parameters
    ----------
    n_neighbors : int, default=5
        How many samples are asked.
    kernel : str, Kernel or callable, default="rbf"
        A name ("linear", "poly", "rbf", "sigmoid", "precomputed" ...), any kernel of ``mercer.kernels``, or a function
        of two samples.
    weights : "uniform", "distance" or callable, default="uniform"
        The weights of the mean: all 1, or 1 / distance (if a sample is at distance 0, only such samples count), or a
        function from an array of distances to one of weights.
    gamma, degree, coef0 : for the names, as in ``SVC``.
    n_jobs : int, default=None
        Threads; -1 for all processors, None for the number mercer is set to.
    verbose : bool, default=False
        Whether to write to the standard output how many queries have been answered.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel, its data-dependent parameters found.
    samples_ : Samples
        The training samples.
    n_samples_fit_ : int
        How many there are.

    References
    ----------
    Altman, "An introduction to kernel and nearest-neighbor nonparametric regression", The American Statistician 1992.
    Yu, Ji, Zhang, "Kernel nearest-neighbor algorithm", Neural Processing Letters 2002.

    Examples
    --------
    >>> from mercer import KernelNeighborsRegressor
    >>> machine = KernelNeighborsRegressor(2, kernel=Gaussian(1.0)).fit([[0.0], [1.0], [2.0], [9.0]], [0, 1, 2, 9])
    >>> machine.predict([[1.6]])
    array([1.5])
    """

    def _targets(self, y: Any) -> dict[str, Any]:
        return {"targets": check_array(in_memory(y, "y"), ensure_2d=False, dtype=np.float64, input_name="y")}

    def predict(self, X: Any) -> Array:
        """The (weighted) mean of the neighbours' targets."""
        fit = fit_of(self)
        index, weight = self._weighted(fit, X)
        targets = fit.targets[index]
        if weight is None:
            return np.asarray(targets.mean(axis=1))
        share = shares(weight)
        return np.asarray(np.einsum("ij,ij...->i...", share, targets))


def shares(weight: Vector) -> Vector:
    """The weights divided by their sum; a sum that is not positive is refused."""
    total = weight.sum(axis=1, keepdims=True)
    if not (total > 0).all():
        raise ValueError(
            f"the weights of the neighbours of {int((~(total > 0)).sum())} samples do not have a positive sum; "
            "let weights return numbers that are not negative, and at least one that is positive"
        )
    return np.asarray(weight / total)
