"""Warnings at the line of the user's that called the library."""

from __future__ import annotations

import inspect
import warnings


def warn_caller(text: str, category: type[Warning]) -> None:
    """Warns at the line that called us, however many functions of ours and of scikit-learn's lie between."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("mercer", "sklearn"):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
