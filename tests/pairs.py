"""Combinations of cases in which every two values meet: what goes wrong seldom takes more than two of them.

All combinations of three and more things take many times as long, and show hardly anything more; they are run before a
release, where MERCER_ALL_CASES is set.
"""

import os
from collections.abc import Sequence
from itertools import combinations, product
from typing import Any


def pairs(*factors: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Rows with a value of each factor, the same in every run; any two values of two factors are in some row together.

    >>> {(a, c) for a, b, c in pairs("ab", [1, 2, 3], "xy")} == {("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")}
    True
    """
    if len(factors) < 2 or not all(factors):
        raise ValueError(f"two or more factors that have values, not {factors}")
    if os.environ.get("MERCER_ALL_CASES"):
        return list(product(*factors))
    sizes = [len(factor) for factor in factors]
    apart = {
        ((i, a), (j, b))
        for i, j in combinations(range(len(factors)), 2)
        for a, b in product(range(sizes[i]), range(sizes[j]))
    }
    used = {(i, a): 0 for i, size in enumerate(sizes) for a in range(size)}
    rows = []
    while apart:
        chosen = dict(min(apart, key=lambda pair: (*(used[one] for one in pair), pair)))
        for i in sorted(set(range(len(factors))) - chosen.keys(), key=lambda i: (-sizes[i], i)):
            chosen[i] = min(range(sizes[i]), key=lambda a: (-_met(apart, (i, a), chosen), used[i, a], a))
        row = tuple(sorted(chosen.items()))
        apart.difference_update(combinations(row, 2))
        for one in row:
            used[one] += 1
        rows.append(row)
    return [tuple(factors[i][a] for i, a in row) for row in rows]


def _met(apart: set[tuple[tuple[int, int], tuple[int, int]]], one: tuple[int, int], chosen: dict[int, int]) -> int:
    """How many of the chosen values this one has not met yet."""
    return sum((min(one, other), max(one, other)) in apart for other in chosen.items())
