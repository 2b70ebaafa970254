"""What all machines share: the kernel among their parameters, and the door for their data."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, Self

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import validate_parameter_constraints
from sklearn.utils.validation import validate_data

from mercer.caller import warn_caller as warn_caller  # the machines take it from here
from mercer.gram import Gram
from mercer.heartbeat import said
from mercer.kernels import IndefiniteKernelWarning, Kernel, Precomputed, ZeroKernelWarning, named_kernel
from mercer.kernels.base import instance
from mercer.kernels.pairs import chunks
from mercer.machines.fit import Fit, Fitted, InputFeatures, fit_of, view
from mercer.problem import Vector
from mercer.samples import Samples, as_samples
from mercer.samples.door import in_memory
from mercer.samples.kinds import refuse_objects, taken_apart
from mercer.solvers.certificate import Witness
from mercer.solvers.convexity import first_refuted

#: The numbers that our door takes as they are.
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
#: A machine whose optimum is not proven is judged on at most this number of its samples.
JUDGED = 500
#: Parameters of these types are what they are for ever.
PLAIN = {bool, int, float, str, type(None)}


class KernelMachine(Fitted, BaseEstimator):  # type: ignore[misc]
    """An estimator with a ``kernel`` parameter: a name, a function, or a Kernel.

    Kernels are immutable, yet ``set_params(kernel__sigma=2.0)`` works: the machine rebuilds its kernel. Parts of a sum
    or product are numbered, the operand of any other operation is its ``inner``:

    >>> from mercer import SVC
    >>> from mercer.kernels import Gaussian, Linear
    >>> machine = SVC(kernel=Gaussian(1).normalized().on("age") + 2 * Linear())
    >>> [name for name in sorted(machine.get_params()) if name.startswith("kernel__0")]
    ['kernel__0', 'kernel__0__columns', 'kernel__0__inner', 'kernel__0__inner__inner',
     'kernel__0__inner__inner__gamma', 'kernel__0__inner__inner__sigma']
    >>> machine.set_params(kernel__0__inner__inner__sigma=3, kernel__1__factor=0.5).kernel
    Gaussian(sigma=3).normalized().on('age') + 0.5 * Linear()
    """

    kernel: Any
    kernel_ = view()

    @classmethod
    @cache  # the signature of a class stays as it is, and to read it takes a tenth of a small fit
    def _get_param_names(cls) -> list[str]:
        names: list[str] = super()._get_param_names()
        return names

    def _validate_params(self) -> None:
        values = [getattr(self, name) for name in self._get_param_names()]
        if all(type(value) in PLAIN for value in values):
            self._accept(*values)
        else:
            instance(self.kernel)
            super()._validate_params()

    @classmethod
    @lru_cache(maxsize=128, typed=True)  # to check them again would take a tenth of a small fit
    def _accept(cls, *values: Any) -> None:
        given = dict(zip(cls._get_param_names(), values, strict=True))
        validate_parameter_constraints(cls._parameter_constraints, given, caller_name=cls.__name__)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        parameters: dict[str, Any] = super().get_params(deep)
        if deep and isinstance(self.kernel, Kernel):
            parameters |= {f"kernel__{name}": value for name, value in kernel_parameters(self.kernel).items()}
        return parameters

    def set_params(self, **parameters: Any) -> Self:
        inside = {name: value for name, value in parameters.items() if name.startswith("kernel__")}
        super().set_params(**{name: value for name, value in parameters.items() if name not in inside})
        for name, value in inside.items():
            if not isinstance(self.kernel, Kernel):
                raise ValueError(
                    f"{name} needs a kernel object, but kernel={self.kernel!r}; give for example Gaussian(1)"
                )
            self.kernel = with_parameter(self.kernel, name.removeprefix("kernel__"), value)
        return self

    def _chosen_kernel(self, columns: int) -> Kernel:
        """The kernel that the parameters name."""
        return named_kernel(self.kernel, columns=columns)

    def _precomputed(self) -> bool:
        return holds_precomputed(self.kernel) if isinstance(self.kernel, Kernel) else self.kernel == "precomputed"

    def _admitted(self, X: Any) -> tuple[Any, InputFeatures]:
        """X of a fit after the checks, and what is known of its columns now."""
        features = InputFeatures(self)
        return self._checked(X, features), features

    def _checked(self, X: Any, features: InputFeatures) -> Any:
        """X after scikit-learn's checks, for ``kernel.samples``; as samples if a Kernel's own door has opened to it.

        A Kernel may take more than numbers, so that of scikit-learn's checks only those of the columns apply.
        """
        reset = not features.known
        if isinstance(X, Gram) and not self._precomputed():
            raise TypeError(
                f"X is a Gram matrix, {X!r}, whose rows kernel={self.kernel!r} would take for samples; give "
                "kernel='precomputed', or the samples themselves"
            )
        if features.kernel is not None and not holds_precomputed(features.kernel):
            samples = features.kernel.samples(X)
            if samples.width is not None:  # sequences and the like have no columns to check
                validate_data(features, X, reset=reset, skip_check_array=True)
            return samples
        plain = plain_of(X, features)
        if plain is None:
            X = in_memory(X)
            if isinstance(X, list) and X and taken_apart(X[0]):
                refuse_objects(X, TypeError())
            try:
                return validate_data(features, X, reset=reset, accept_sparse="csr", dtype=["float64", "float32"])
            except OverflowError:
                as_samples(X)  # which names the column
                raise
            except (TypeError, ValueError) as error:
                refuse_objects(X, error)
                if isinstance(nw.from_native(X, eager_only=True, pass_through=True), nw.DataFrame):
                    as_samples(X).dense()  # which names the column
                raise
        if reset:
            features.n_features_in_ = plain.shape[1]
        return plain

    def _new_samples(self, X: Any, fit: Any = None) -> Samples:
        """New data as samples of the fitted kernel."""
        fit = fit_of(self) if fit is None else fit
        samples: Samples = fit.kernel.samples(self._checked(X, InputFeatures(self, fit)))
        return samples

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._precomputed()
        return tags


def plain_of(X: Any, features: InputFeatures) -> Any:
    """X as an array of which scikit-learn's checks, 0.1 ms long and more, would ask only what our door asks, too.

    None if they would ask more. Of a frame that is its values, if it has the names of the one the machine knows.
    """
    known = features.__dict__
    names = known.get("feature_names_in_")
    if names is not None:
        X = values_of(X, names.tolist())
    if not (type(X) is np.ndarray or (sp.issparse(X) and X.format == "csr")):
        return None
    if X.ndim != 2 or X.dtype not in FLOATS or not all(X.shape):
        return None
    return X if not features.known or X.shape[1] == known.get("n_features_in_") else None


def values_of(X: Any, names: list[str]) -> Any:
    """The values of a pandas frame of numbers with columns of these names; None if X is anything else.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"a": [1.0], "b": [2]})
    >>> values_of(frame, ["a", "b"]), values_of(frame, ["b", "a"])
    (array([[1., 2.]]), None)
    """
    if not nw.dependencies.is_pandas_dataframe(X) or X.columns.tolist() != names:
        return None
    dtypes = X.dtypes.tolist()
    if all(dtype in FLOATS for dtype in dtypes):
        return X.to_numpy()
    plain = all(type(dtype).__module__ == "numpy.dtypes" and dtype.kind in "iufb" for dtype in dtypes)
    return X.to_numpy(dtype=np.float64) if plain else None


def tell(machine: Any, context: Any, task: str, text: str, metadata: dict[str, Any]) -> bool:
    """Tells the user, if the machine is verbose, and scikit-learn's callbacks how far it has come; True means stop."""
    if machine.verbose:
        sys.stdout.write(f"{type(machine).__name__} {text}\n")
        said(text)
    if context is None or not hasattr(machine, "_skl_callbacks"):
        return False
    step = context.subcontext(task_name=task)
    step.call_on_fit_task_begin(estimator=machine, metadata=metadata)
    return bool(step.call_on_fit_task_end(estimator=machine, metadata=metadata))


def watch(machine: Any, context: Any, line: Callable[[Any], str]) -> Callable[[Any], bool] | None:
    """What a solver calls with its progress, a dataclass that ``line`` puts into words; None if nobody listens."""
    if not (machine.verbose or (context is not None and hasattr(machine, "_skl_callbacks"))):
        return None

    def report(progress: Any) -> bool:
        return tell(machine, context, "solve", line(progress), dataclasses.asdict(progress))

    return report


def warn_of_kernel(machine: Any, fit: Any, X: Any, y: Any = None) -> None:
    """Says that the kernel of a fit is not positive semi-definite, if its certificate has a witness.

    With the targets y it says, too, how good the machine is on its own samples, as nothing is proven of it.
    """
    found = fit.certificate
    certificate = first_refuted(found if isinstance(found, tuple) else (found,))
    if certificate is None:
        return
    reached = "" if y is None else f" {how_good(machine, fit, X, y)}"
    warn_indefinite(
        fit.kernel,
        certificate.witness,
        "The problem is not convex: what was found need not be the optimum (violation of the KKT conditions "
        f"{certificate.violation:.2g}), and its objectives and gap prove nothing.{reached}",
    )


def warn_indefinite(kernel: Kernel, witness: Witness | None, consequence: str) -> None:
    """Says that a kernel is not positive semi-definite, how that is known, what follows, and what helps."""
    warn_caller(
        f"{kernel} is not positive semi-definite on these samples: {witness}. {consequence} "
        "mercer.kernels.repair(kernel) makes the kernel positive semi-definite.",
        IndefiniteKernelWarning,
    )


def how_good(machine: Any, fit: Fit, X: Any, y: Any) -> str:
    """How good a machine with this fit is on the first of its own samples, beside what knows nothing of them."""
    y = np.asarray(y)
    some = np.arange(min(len(y), JUDGED))
    said, y = machine._predict(fit, _safe_indexing(X, some)), y[some]
    if is_classifier(machine):
        most = np.unique(y, return_counts=True)[1].max() / len(y)
        return (
            f"On {len(some)} of its own samples it is right for {np.mean(said == y):.0%}, "
            f"the most frequent class alone for {most:.0%}."
        )
    around = float(np.square(y - y.mean(axis=0)).sum())
    explained = 1 - float(np.square(y - said).sum()) / around if around else float("nan")
    return f"On {len(some)} of its own samples its R2 is {explained:.3g}, that of a constant 0."


def warn_of_zeros(kernel: Kernel, diagonal: Vector, samples: Samples) -> None:
    """Says for how many samples the kernel is zero, if it is zero between them and all others.

    Among vectors some zeros are points like others; a matrix of zeros is not.
    """
    suspects = np.flatnonzero(diagonal == 0)
    if not len(suspects):
        return
    n = len(diagonal)
    objects = reads_objects(kernel, samples.take(np.arange(1)))
    if not objects and len(suspects) < n:
        return
    empty = suspects if kernel.validity == "psd" else without_similarity(kernel, samples, suspects, objects)
    if not len(empty) or (not objects and len(empty) < n):
        return
    which = "all" if len(empty) == n else f"{len(empty)} of"
    why = (
        "they have no feature that it counts, such as a word of its alphabet and length, a node or a label"
        if objects
        else "no two of them have anything in common"
    )
    warn_caller(
        f"{kernel} is zero for {which} {n} samples (the first is number {empty[0]}), so that nothing can be learned of "
        f"them: {why}. Look at k.diag(X), and choose another kernel or leave them out.",
        ZeroKernelWarning,
    )


def reads_objects(kernel: Kernel, one: Samples) -> bool:
    """Whether a kernel, or one it is made of, sees this sample as something else than numbers or a row of a table."""
    return one.width is None or any(reads_objects(child, kernel.seen_by(child, one)) for child in kernel.children)


def without_similarity(kernel: Kernel, samples: Samples, suspects: Any, every: bool) -> Any:
    """Those of the suspects, which have k(x, x) = 0, with k(x, z) = 0 for all z; only a PSD kernel has no others.

    Unless ``every`` one is to be found, a single one that has a similarity ends the search.
    """
    gram, found = kernel.gram(samples, budget=0), []
    for rows in chunks(len(suspects), 8 * len(samples)):
        part = suspects[rows]
        found.append(part[~gram.rows(part).any(axis=1)])
        if not every and len(found[-1]) < len(part):
            break
    return np.concatenate(found)


class Stages:
    """Tells, as ``tell`` does, which of the few long stages of a fit begins: a closed form has no passes to count."""

    def __init__(self, machine: Any, context: Any) -> None:
        self.machine, self.context = machine, context

    def begin(self, stage: str) -> None:
        tell(self.machine, self.context, "stage", stage, {"stage": stage})


def penalty_of(given: Any, targets: Vector) -> Any:
    """The parameter ``alpha`` of a ridge regression: a number, or an array of one for each target.

    >>> penalty_of([1, 2], np.zeros((5, 2)))
    array([1., 2.])
    """
    alpha = np.asarray(given, dtype=np.float64)
    outputs = 1 if targets.ndim == 1 else targets.shape[1]
    if alpha.ndim > 1 or (alpha.ndim == 1 and len(alpha) not in (1, outputs)):
        raise ValueError(f"alpha must be a number or one number for each of {outputs} targets, not shape {alpha.shape}")
    if not (np.isfinite(alpha).all() and (alpha >= 0).all()):
        raise ValueError(f"alpha must be finite and at least 0, not {given!r}")
    if targets.ndim == 1 or alpha.ndim == 0 or len(alpha) == 1:
        return float(alpha.ravel()[0])
    return alpha


def precise(kernel: Kernel, samples: Samples, coefficients: Vector, size: float) -> Samples:
    """The samples in float64 if the terms of f are so large that float32 would lose some 1e-4 of ``size``.

    Every term is rounded by itself, as often up as down, so four times the root of the sum of squares bounds the loss.
    """
    if samples.dtype == np.float64 or not len(samples):
        return samples
    with np.errstate(over="ignore", invalid="ignore"):
        largest = float(np.abs(kernel.diag(samples)).max())
        unit = float(np.abs(coefficients).max(initial=0.0)) or 1.0  # the squares of the smallest vanish
        norm = unit * float(np.sqrt(np.square(coefficients / unit).sum(axis=0).max()))
        lost = 4 * float(np.finfo(samples.dtype).eps) * norm * largest
    return samples if lost <= 1e-4 * size else samples.astype(np.float64)  # as well if k(x, x) is beyond float32


def holds_precomputed(kernel: Kernel) -> bool:
    """Whether a kernel, or one it is made of, takes rows of a matrix instead of samples."""
    return isinstance(kernel, Precomputed) or any(holds_precomputed(child) for child in kernel.children)


def kernel_parameters(kernel: Kernel) -> dict[str, Any]:
    """Every parameter of a kernel and, behind ``__``, of the kernels it is made of: ``inner__sigma``, ``0__degree``.

    >>> from mercer.kernels import Gaussian, Linear
    >>> sorted(kernel_parameters(Linear() + Gaussian(2)))
    ['0', '1', '1__gamma', '1__sigma']
    """
    found: dict[str, Any] = {}
    for name, value in _fields(kernel).items():
        found[name] = value
        if isinstance(value, Kernel):
            found |= {f"{name}__{inner}": v for inner, v in kernel_parameters(value).items()}
    return found


def with_parameter(kernel: Kernel, name: str, value: Any) -> Kernel:
    """The kernel with one parameter changed.

    >>> from mercer.kernels import Gaussian, Linear
    >>> with_parameter(Linear() + Gaussian(2), "1__sigma", 3.0)
    Linear() + Gaussian(sigma=3)
    """
    own, _, rest = name.partition("__")
    fields = _fields(kernel)
    if own not in fields:
        raise ValueError(f"{kernel!r} has no parameter {own!r}; it has {', '.join(map(repr, fields)) or 'none'}")
    if isinstance(fields[own], Kernel):
        instance(value)
    changed = with_parameter(fields[own], rest, value) if rest else value
    if own.isdigit():
        children = list(kernel.children)
        children[int(own)] = changed
        return kernel.rebuild(tuple(children))
    changes = {own: changed}
    # Where two parameters say the same thing, as sigma and gamma do, setting one replaces the other.
    if {"sigma", "gamma"} <= fields.keys() and own in ("sigma", "gamma") and changed is not None:
        changes["gamma" if own == "sigma" else "sigma"] = None
    return dataclasses.replace(kernel, **changes)  # type: ignore[type-var]


def _fields(kernel: Kernel) -> dict[str, Any]:
    names = [field.name for field in dataclasses.fields(kernel) if field.init]  # type: ignore[arg-type]
    if names == ["parts"]:
        return {str(i): child for i, child in enumerate(kernel.children)}
    return {name: getattr(kernel, name) for name in names}
