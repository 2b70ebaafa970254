"""How things show themselves: as text that stays short whatever they hold, and as the same text in notebooks."""

from __future__ import annotations

from contextvars import ContextVar
from html import escape

#: Whether numbers that would fill a page are told by how many they are.
_SHORT: ContextVar[bool] = ContextVar("_SHORT", default=False)
#: So many numbers of one array are written out in a short text.
WRITTEN = 16


class Shown:
    """Something that says in a few lines of text, by ``str``, what it is; in notebooks as HTML, where nothing of it can
    be mistaken for markup.

    >>> from mercer import SVC
    >>> SVC(kernel="linear").fit([[0.0], [1.0]], [0, 1]).certificate_._repr_html_()
    '<pre>converged after ... iterations: primal ..., gap 0, violation 0</pre>'
    """

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def short(value: object) -> str:
    """The expression that makes a value, but for large arrays in it, of which it has the size.

    >>> from mercer.kernels import Gaussian
    >>> short(2 * Gaussian(range(1, 100)))
    '2 * Gaussian(sigma=<99 numbers>)'
    """
    before = _SHORT.set(True)
    try:
        return repr(value)
    finally:
        _SHORT.reset(before)


def too_many(count: int) -> bool:
    """Whether ``count`` numbers are too many to be written out now."""
    return _SHORT.get() and count > WRITTEN
