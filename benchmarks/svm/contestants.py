"""The contestants: each makes a machine with scikit-learn's interface, at the settings that suit it best."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

THREADS = 2
LIBSVM_TYPES = {"SVC": 0, "NuSVC": 1, "OneClassSVM": 2, "SVR": 3, "NuSVR": 4}
LIBSVM_FLAGS = {"gamma": "-g", "C": "-c", "nu": "-n", "epsilon": "-p", "tol": "-e", "cache_size": "-m"}


class AbsentError(Exception):
    """A contestant that has no such machine."""


@dataclass(frozen=True)
class Contestant:
    """``module`` must be installed; ``dtype`` is what it computes in, if not what the data are given in."""

    name: str
    module: str
    make: Callable[[str, dict[str, Any]], Any]
    dtype: str | None = None

    def installed(self) -> bool:
        return importlib.util.find_spec(self.module) is not None


def ours(machine: str, parameters: dict[str, Any]) -> Any:
    import mercer

    return getattr(mercer, machine)(**parameters)


def scikit(machine: str, parameters: dict[str, Any]) -> Any:
    import sklearn.svm

    return getattr(sklearn.svm, machine)(**parameters)


def intelex(machine: str, parameters: dict[str, Any]) -> Any:
    import daal4py
    import sklearnex.svm

    daal4py.daalinit(THREADS)
    if not hasattr(sklearnex.svm, machine):
        raise AbsentError(f"scikit-learn-intelex has no {machine}")
    return getattr(sklearnex.svm, machine)(**parameters)


def thunder(machine: str, parameters: dict[str, Any]) -> Any:
    import thundersvm

    inner = getattr(thundersvm, machine)
    return Relaid(inner(**parameters, n_jobs=THREADS), machine)


def libsvm(machine: str, parameters: dict[str, Any]) -> Any:
    return Relaid(Libsvm(machine, parameters), machine)


#: In the order they run. Ratios are taken to the faster of REFERENCES; the others are shown beside.
CONTESTANTS = [
    Contestant("mercer", "mercer", ours),
    Contestant("intelex", "sklearnex", intelex),
    Contestant("intelex-f32", "sklearnex", intelex, "float32"),
    Contestant("scikit-learn", "sklearn", scikit, "float64"),
    Contestant("thundersvm", "thundersvm", thunder, "float32"),
    Contestant("libsvm", "libsvm", libsvm, "float64"),
]
REFERENCES = ("intelex", "intelex-f32", "scikit-learn")
BY_NAME = {contestant.name: contestant for contestant in CONTESTANTS}


class Libsvm:
    """LIBSVM's own Python interface; its problem is made beforehand, which costs more than some fits."""

    def __init__(self, machine: str, parameters: dict[str, Any]) -> None:
        kernel = {"linear": 0, "rbf": 2}[parameters["kernel"]]
        flags = " ".join(f"{LIBSVM_FLAGS[k]} {v!r}" for k, v in parameters.items() if k in LIBSVM_FLAGS)
        self.flags = f"-q -s {LIBSVM_TYPES[machine]} -t {kernel} {flags}"

    def prepare(self, X: Any, y: Any) -> None:
        from libsvm.svm import svm_problem

        self.problem = svm_problem(y.astype(np.float64), X)

    def fit(self, X: Any, y: Any) -> Libsvm:
        from libsvm.svm import svm_parameter
        from libsvm.svmutil import svm_train

        self.model = svm_train(self.problem, svm_parameter(self.flags))
        return self

    @property
    def support_(self) -> Any:
        return np.array(self.model.get_sv_indices()) - 1

    @property
    def dual_coef_(self) -> Any:
        return np.array(self.model.get_sv_coef()).T


class Relaid:
    """A machine that numbers classes as they come, its coefficients brought into scikit-learn's order and signs."""

    def __init__(self, inner: Any, machine: str) -> None:
        self.inner = inner
        self.classifies = machine in ("SVC", "NuSVC")

    def prepare(self, X: Any, y: Any) -> None:
        self.codes = np.unique(y, return_inverse=True)[1]
        if hasattr(self.inner, "prepare"):
            self.inner.prepare(X, y)

    def fit(self, X: Any, y: Any) -> Relaid:
        self.inner.fit(X, y)
        return self

    def predict(self, X: Any) -> Any:
        if not hasattr(self.inner, "predict"):
            raise AbsentError("its interface predicts row by row")
        return self.inner.predict(X)

    @property
    def support_(self) -> Any:
        return self.inner.support_

    @property
    def dual_coef_(self) -> Any:
        given = np.atleast_2d(self.inner.dual_coef_)
        if not self.classifies:
            return given
        own = self.codes[self.support_]
        order = own[np.sort(np.unique(own, return_index=True)[1])]  # support vectors come class by class
        if len(order) == 2:
            return np.where(own == 1, 1, -1) * np.abs(given)
        place = np.argsort(order)
        laid = np.zeros_like(given)
        vectors = np.arange(len(own))
        for other in range(len(order)):
            mine = own != other
            source = place[other] - (place[other] > place[own[mine]])
            goal = other - (other > own[mine])
            sign = np.where(own[mine] < other, 1, -1)
            laid[goal, vectors[mine]] = sign * np.abs(given[source, vectors[mine]])
        return laid


class Fallbacks(logging.Handler):
    """Within it, notices where scikit-learn-intelex hands the work back to scikit-learn."""

    def __enter__(self) -> Fallbacks:
        self.seen = False
        self.logger = logging.getLogger("sklearnex")
        self.logger.handlers, self.logger.propagate = [self], False
        self.logger.setLevel(logging.INFO)
        return self

    def __exit__(self, *failure: object) -> None:
        self.logger.setLevel(logging.WARNING)

    def emit(self, record: logging.LogRecord) -> None:
        self.seen |= "fallback" in record.getMessage()
