"""The combinations that tests are run on: every two values meet, in few rows, and in the same ones in every run."""

from itertools import combinations, product
from math import prod

import pytest

from tests.pairs import pairs


@pytest.fixture(autouse=True)
def _in_pairs(monkeypatch):
    monkeypatch.delenv("MERCER_ALL_CASES", raising=False)


@pytest.mark.parametrize("sizes", [(2, 2, 2), (4, 3), (5, 6, 7), (16, 2, 4, 2), (3, 1, 9, 2, 2)])
def test_every_two_values_meet(sizes):
    factors = [[f"{i}:{a}" for a in range(size)] for i, size in enumerate(sizes)]
    rows = pairs(*factors)
    for i, j in combinations(range(len(sizes)), 2):
        assert {(row[i], row[j]) for row in rows} == set(product(factors[i], factors[j]))
    assert all(value in factor for row in rows for value, factor in zip(row, factors, strict=True))
    assert rows == pairs(*factors)


@pytest.mark.parametrize("sizes", [(4, 3), (5, 6, 7), (16, 2, 4, 2), (21, 21, 3)])
def test_rows_are_as_few_as_can_be(sizes):
    """The two largest factors need all of their combinations, and the others find room there."""
    assert len(pairs(*map(range, sizes))) == prod(sorted(sizes)[-2:])


@pytest.mark.parametrize("factors", [(), ("abc",), ("abc", "")])
def test_without_pairs_there_are_no_tests(factors):
    with pytest.raises(ValueError, match="two or more factors"):
        pairs(*factors)


def test_all_cases_can_be_asked_for(monkeypatch):
    monkeypatch.setenv("MERCER_ALL_CASES", "1")
    assert len(pairs("abc", "de", "fg")) == 12
