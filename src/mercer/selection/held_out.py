"""What scorers take for a fitted machine: what it says of the rows that were held out is known already.

Of any other rows, and for scorers that want more than answers, there is the fitted machine itself, made when it is
asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.metrics._scorer import _BaseScorer, _MultimetricScorer, _PassthroughScorer

from mercer.samples.base import Array


class Known:
    """The answers of one machine at some rows, given the values of its functions there."""

    def __init__(
        self,
        machine: Any,
        X: Any,
        answers: dict[str, Callable[[], Any]],
        fitted: Callable[[], Any],
        attributes: dict[str, Any] | None = None,
    ) -> None:
        self.__dict__.update(attributes or {})
        self._machine, self._X, self._answers, self._fitted = machine, X, answers, fitted
        self._said: dict[str, Any] = {}

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self._machine)

    def __sklearn_tags__(self) -> Any:
        return self._machine.__sklearn_tags__()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in self._answers:

            def method(X: Any) -> Any:
                return self._answer(name, X)

            method.__name__ = name  # which scorers go by
            return method
        return getattr(self.machine(), name)

    def machine(self) -> Any:
        """The fitted machine."""
        if "machine" not in self._said:
            self._said["machine"] = self._fitted()
        return self._said["machine"]

    def light(self) -> Known:
        """The same without the machine and the rows, to be kept."""

        def gone() -> Any:
            raise AttributeError("of this cell answers alone are kept")

        other = Known(self._machine, None, self._answers, gone)
        other.__dict__.update({name: value for name, value in vars(self).items() if not name.startswith("_")})
        return other

    def answer(self, name: str) -> Any:
        """What a method says of the rows that were held out."""
        if name not in self._answers:
            raise LookupError(f"{name} is not among what is known")
        if name not in self._said:
            self._said[name] = self._answers[name]()
        return self._said[name]

    def _answer(self, name: str, X: Any) -> Any:
        return self.answer(name) if X is self._X else getattr(self.machine(), name)(X)


def plain_score(scorer: Any, machine: Any) -> Callable[[Any, Any], float] | None:
    """The function of targets and predictions that a scorer comes to, if it is one that needs no checks here."""
    if type(scorer) is _PassthroughScorer:
        if is_classifier(machine):
            return accuracy
        return r2 if is_regressor(machine) else None
    if isinstance(scorer, _BaseScorer) and not scorer._kwargs and scorer._sign == 1:
        if scorer._score_func is accuracy_score and is_classifier(machine):
            return accuracy
        if scorer._score_func is r2_score and is_regressor(machine):
            return r2
    return None


def is_plain(y: Any) -> bool:
    """Whether targets need none of the checks of scikit-learn's scorers, which refuse what is no number or no label.

    >>> is_plain([0, 1, 1]), is_plain([0.5, np.nan]), is_plain(["a", None])
    (True, False, False)
    """
    y = np.asarray(y)
    if y.ndim != 1 or len(y) < 2 or y.dtype.kind not in "biufUS":
        return False
    return y.dtype.kind != "f" or bool(np.isfinite(y).all())


def takes_answers(scorer: Any) -> bool:
    """Whether a scorer asks for answers alone, and never for the machine."""
    if isinstance(scorer, _MultimetricScorer):
        return all(takes_answers(one) for one in scorer._scorers.values())
    return isinstance(scorer, (_BaseScorer, _PassthroughScorer))


def accuracy(y: Array, said: Array) -> float:
    if np.asarray(y).dtype.kind == "f":  # which may be no labels
        return float(accuracy_score(y, said))
    return float(np.average(np.asarray(y) == said))


def r2(y: Array, said: Array) -> float:
    """As ``r2_score`` has it for one column of targets."""
    y = np.asarray(y, dtype=np.float64)
    lost, around = float(((y - said) ** 2).sum()), float(((y - np.average(y)) ** 2).sum())
    if around == 0:
        return 1.0 if lost == 0 else 0.0
    return 1.0 - lost / around
