"""Names for the columns of explicit features, as scikit-learn writes them: ``x0^2``, ``x0 x1``, a word, a subtree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from mercer.samples import Samples

#: Names of more columns than this are not made: nobody reads them, and they take gigabytes.
MOST_NAMES = 10_000_000
#: A name of more characters is cut, and its number tells it apart.
LONGEST = 300
#: The name of the one column of features of which there are none.
NOTHING = "nothing"


def column_names(x: Samples) -> list[str]:
    """The names of the columns of samples or, where they have none, those that scikit-learn gives.

    >>> from mercer.samples import as_samples
    >>> column_names(as_samples([[1.0, 2.0]]))
    ['x0', 'x1']
    """
    return [f"x{i}" for i in range(x.width or 0)] if x.names is None else list(x.names)


def numbered(name: str, count: int) -> list[str]:
    """Names for columns of which nothing is known but what made them.

    >>> numbered("Polar", 2)
    ['polar0', 'polar1']
    """
    return [f"{name.lower()}{i}" for i in range(count)]


def monomial(names: Sequence[str], choice: Iterable[int]) -> str:
    """The product of columns.

    >>> monomial(["a", "b"], [0, 0, 1]), monomial(["a", "b"], []), monomial(["a^2"], [0, 0])
    ('a^2 b', '1', '(a^2)^2')
    """
    powers = Counter(choice)
    return " ".join(raised(names[i], power) for i, power in powers.items()) or "1"


def raised(name: str, power: int) -> str:
    if power == 1:
        return name
    return f"({name})^{power}" if "^" in name else f"{name}^{power}"


def crossed(left: Sequence[str], right: Sequence[str]) -> list[str]:
    """The names of the outer product of features.

    >>> crossed(["a", "b"], ["1", "c"])
    ['a * 1', 'a * c', 'b * 1', 'b * c']
    """
    check_number(len(left) * len(right))
    return [f"{a} * {b}" for a, b in product(left, right)]


def end_to_end(parts: Sequence[Sequence[str]]) -> list[str]:
    """The names of several parts; those that more than one part has are told apart by the number of the part.

    >>> end_to_end([["x0", "1"], ["x0", "x0^2"]])
    ['0__x0', '1', '1__x0', 'x0^2']
    """
    in_parts = Counter(name for part in parts for name in set(part))
    return [f"{i}__{name}" if in_parts[name] > 1 else name for i, part in enumerate(parts) for name in part]


def short(text: str, number: str) -> str:
    """A name that may be too long, which ends in its number then."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... #{number}"


def distinct(names: Sequence[str]) -> NDArray[np.object_]:
    """Names as scikit-learn gives them; those that several columns have, such as 1 and "1", get the column's number.

    >>> distinct(["a", "b", "a"]).tolist()
    ['a #0', 'b', 'a #2']
    """
    if len(set(names)) < len(names):
        times = Counter(names)
        names = [f"{name} #{i}" if times[name] > 1 else name for i, name in enumerate(names)]
    return np.array(names, dtype=object)


def check_number(count: int) -> None:
    if count > MOST_NAMES:
        raise ValueError(
            f"there are {count} columns, and names of at most {MOST_NAMES} are made; take an alphabet of fewer "
            "letters, shorter words or a lower degree"
        )
