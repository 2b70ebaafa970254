"""Fit: the frozen value that holds all that a machine has fitted, once, and that can be listed; model files store it.

A fit poses problems, solves them and keeps the solutions as a Fit; that the machine holds it is the only assignment.
So a fit that is refused, fails or is interrupted has changed nothing, and whoever reads ``_fit`` once has all of one
fit, whatever another thread fits meanwhile. scikit-learn's attributes are views of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from mercer.expansion import Expansion
from mercer.kernels import Kernel
from mercer.machines.limits import FITS, within_limits
from mercer.samples import Samples, SparseVectors, Vectors
from mercer.samples.base import Array
from mercer.samples.nested import portable
from mercer.solvers.certificate import Certificate, Witness


@dataclass(frozen=True, eq=False)
class AsGiven:
    """Samples in the user's own form, which is that of an attribute: a list of objects, a frame."""

    data: Any

    def __getstate__(self) -> dict[str, Any]:
        return {"data": portable_data(self.data)}


@dataclass(frozen=True, eq=False)
class UserFunction:
    """A user's function of two blocks of samples, and the samples it was fitted to, which are one of them."""

    call: Callable[[Any, Any], Any]
    data: Any

    def __getstate__(self) -> dict[str, Any]:
        return {"call": self.call, "data": portable_data(self.data)}


#: What a Fit is made of in the end ...
LEAVES = (
    *(np.ndarray, sp.csr_array, sp.csr_matrix, np.generic, bool, int, float, str, type(None)),
    *(Kernel, Samples, AsGiven, UserFunction),
)
#: ... and the values in it that have a listing themselves.
LISTED = (Expansion, Certificate, Witness)


@dataclass(frozen=True, eq=False, kw_only=True)
class Fit:
    """All that a machine has fitted. What can be made of it again is ``remembered``, and neither listed nor pickled.

    >>> from mercer import KernelRidge
    >>> fit = KernelRidge().fit([[1.0], [2.0]], [1.0, 3.0])._fit
    >>> sorted(fit.contents())[:3]
    ['X_given', 'absent', 'alpha']
    >>> [name for name, leaf in leaves(fit) if isinstance(leaf, Kernel)]
    ['expansion.kernel']
    >>> type(fit)(**fit.contents()).expansion([[3.0]]) == fit.expansion([[3.0]])
    array([ True])
    """

    #: The number of columns of the samples and, of frames, their names, where they have any.
    n_features_in: int | None = None
    feature_names_in: Array | None = None
    #: Whether the kernel was given as a Kernel, whose own door opens to data, and not by a name or as a function.
    by_kernel: bool = False

    def contents(self) -> dict[str, Any]:
        """Every field by its name; from these alone the same Fit can be made again."""
        return contents(self)

    def __getstate__(self) -> dict[str, Any]:
        return self.contents()


def contents(value: Any) -> dict[str, Any]:
    """The fields of a Fit, or of a value in it that has a listing, by their names."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Whatever a value is made of in the end, with names like ``certificate.0.gap``; nothing but ``LEAVES``.

    >>> list(leaves({"a": (1, None)}))
    [('a.0', 1), ('a.1', None)]
    """
    if isinstance(value, (Fit, *LISTED)):
        parts: Mapping[Any, Any] = contents(value)
    elif isinstance(value, Mapping):
        parts = value
    elif isinstance(value, tuple):
        parts = dict(enumerate(value))
    elif isinstance(value, LEAVES):
        yield name, value
        return
    else:
        raise TypeError(f"{name} is {type(value).__name__}, which a Fit does not hold")
    for part, inner in parts.items():
        yield from leaves(inner, f"{name}.{part}" if name else str(part))


class view:  # noqa: N801 - it is read as a declaration
    """An attribute of scikit-learn's, such as ``support_``: what the Fit has under that name, without the ``_``.

    A machine that is not fitted has none, nor one whose Fit holds None there. To set what the Fit holds is to make
    another Fit of the old one, whose arrays have the same shapes; what is found from others of its values cannot be
    set.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.name, self.field = name, name.strip("_")

    def __get__(self, machine: Any, owner: type) -> Any:
        if machine is None:
            return self
        value = getattr(fit_of(machine), self.field, None)
        if value is None:
            raise AttributeError(f"this {owner.__name__} was fitted without {self.name}")
        return value

    def __set__(self, machine: Any, value: Any) -> None:
        fit = fit_of(machine)
        if self.field not in fit.contents():
            raise AttributeError(f"{self.name} of {type(machine).__name__} cannot be set: it follows from other values")
        checked = in_place_of(getattr(fit, self.field), value, f"{self.name} of {type(machine).__name__}")
        machine._fit = replace(fit, **{self.field: checked})


def in_place_of(known: Any, value: Any, name: str) -> Any:
    """A value that is set where a Fit holds another: an array of the same shape in the place of an array."""
    if not isinstance(known, (np.ndarray, sp.csr_array, sp.csr_matrix)):
        list(leaves(value, name))  # which refuses what a Fit cannot hold
        return value
    array: Any = value if sp.issparse(value) else np.asarray(value)
    if array.shape != known.shape:
        raise ValueError(
            f"{name} has the shape {known.shape}, which belongs to the rest of what was fitted, so it cannot be set to "
            f"an array of shape {array.shape}; fit the machine to other data instead"
        )
    if not np.can_cast(array.dtype, known.dtype, "same_kind"):
        raise TypeError(f"{name} holds {known.dtype}, so it cannot be set to values of {array.dtype}")
    return array


def fit_of(machine: Any) -> Any:
    """What a machine has fitted; scikit-learn's error if that is nothing."""
    fit = machine._fit
    if fit is None:
        check_is_fitted(machine)
        fit = machine._fit  # fitted since, by another thread
    return fit


class Fitted:
    """What all machines share: the one place for what was fitted, and its views.

    >>> from mercer import KernelRidge
    >>> machine = KernelRidge(kernel="linear").fit([[1.0], [2.0]], [1.0, 2.0])
    >>> try:
    ...     machine.fit([[1.0, 0.0], [2.0, 0.0]], [1.0, float("nan")])
    ... except ValueError:
    ...     machine.n_features_in_, machine.predict([[3.0]]).shape
    (1, (1,))
    """

    #: All that was fitted: None before, then replaced as a whole.
    _fit: Any = None
    #: What takes less memory than a fit for which there was not enough.
    _takes_less = "Fewer samples, or samples in float32, take less"

    n_features_in_, feature_names_in_ = view(), view()

    def __init_subclass__(cls, **keywords: Any) -> None:
        for name in FITS:
            if name in vars(cls):
                setattr(cls, name, within_limits(vars(cls)[name]))
        super().__init_subclass__(**keywords)

    def __sklearn_is_fitted__(self) -> bool:
        return self._fit is not None


class InputFeatures:
    """What scikit-learn's checks of data write, and compare with: the number and the names of the columns.

    They take it for the machine, of which it has the class (in messages) and the tags. That of a Fit knows what new
    data must have; that of none finds it out.
    """

    def __init__(self, machine: Any, fit: Fit | None = None) -> None:
        self._machine, self.known = machine, fit is not None
        given = getattr(machine, "kernel", None)
        #: The Kernel whose door opens to data, if it was given as such: of a Fit its own, whatever parameters say now.
        self.kernel: Kernel | None = given if isinstance(given, Kernel) else None
        if fit is not None:
            self.kernel = getattr(fit, "kernel", None) if fit.by_kernel else None
        if fit is not None and fit.n_features_in is not None:
            self.n_features_in_ = fit.n_features_in
            if fit.feature_names_in is not None:
                self.feature_names_in_ = fit.feature_names_in

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self._machine)

    def __sklearn_tags__(self) -> Any:
        return self._machine.__sklearn_tags__()

    @property
    def count(self) -> int:
        """The number of columns, for kernels whose parameters depend on it; 1 of samples without any."""
        return int(getattr(self, "n_features_in_", 1))

    def found(self) -> dict[str, Any]:
        """The fields of a Fit."""
        columns = {name: getattr(self, f"{name}_", None) for name in ("n_features_in", "feature_names_in")}
        return {**columns, "by_kernel": self.kernel is not None}


def as_kept(X: Any, samples: Samples, *, whole: bool) -> Any:
    """What a user gave, to be kept beside these samples; None if they are all there is to it, which are ``whole``."""
    if isinstance(X, Samples):
        return X
    if not isinstance(X, (np.ndarray, sp.csr_array, sp.csr_matrix)) or X.dtype == object:
        return AsGiven(X)
    array: Any = samples.array if whole and isinstance(samples, (Vectors, SparseVectors)) else None
    same = type(array) is type(X) and array.dtype == X.dtype and array.shape == X.shape
    return None if same else X


def as_given(kept: Any, samples: Any) -> Any:
    """What the user gave, from what ``as_kept`` says of it."""
    if kept is None:
        return samples.array
    return kept.data if isinstance(kept, AsGiven) else kept


def portable_data(value: Any) -> Any:
    """The same, in a form that pickle can write: objects in it may be deep trees.

    A frame which polars cannot pickle, with a column of objects, becomes its columns.
    """
    frame = nw.from_native(value, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return portable(value)
    if nw.Object not in frame.schema.values():
        return value
    if frame.implementation.is_polars():
        return {name: portable(column) for name, column in frame.to_dict(as_series=False).items()}
    if frame.implementation.is_pandas():
        columns = [column.to_numpy() for _, column in value.items()]
        packed = {i: portable(column) for i, column in enumerate(columns) if column.dtype == object}
        if any(packed[i] is not columns[i] for i in packed):
            value = value.copy()
            for i, column in packed.items():
                value.isetitem(i, column)
    return value
