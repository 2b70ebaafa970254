"""Landmarks: what each way chooses, and what they span."""

import numpy as np
import pytest

from mercer.kernels import Gaussian, Linear, Sigmoid
from mercer.solvers.landmarks import (
    choose_at_random,
    choose_by_gain,
    choose_by_rest,
    choose_evenly,
    columns,
    regular_root,
    root,
    span,
    span_of,
)

rng = np.random.default_rng(0)
X = rng.standard_normal((40, 3))
GRAM = Gaussian(1.0).gram(X)


def test_ways_give_positions_of_different_samples():
    random = np.random.RandomState(0)
    every = np.arange(40)
    for some in (choose_evenly(40, 7), choose_at_random(40, 7, random), choose_by_rest(GRAM, every, 7, random)):
        assert len(np.unique(some)) == len(some) == 7
        assert (np.diff(some) > 0).all()
        assert ((some >= 0) & (some < 40)).all()
    assert choose_evenly(5, 9).tolist() == [0, 1, 2, 3, 4]
    assert choose_at_random(5, 9, random).tolist() == [0, 1, 2, 3, 4]
    rows = every[::2]
    assert set(choose_by_rest(GRAM, rows, 6, random)) <= set(rows.tolist())


def test_no_more_are_chosen_than_span_all():
    """Samples of a plane: three landmarks leave nothing, so those of later turns are not taken."""
    plane = Linear().gram(X)
    assert len(choose_by_rest(plane, np.arange(40), 30, np.random.RandomState(0))) == 10  # the first third


def test_gains_are_those_of_a_greedy_search():
    """Against plain linear algebra: each choice lowers g'Q^+g / 2 of the chosen most."""
    A = rng.standard_normal((8, 8))
    Q, g = A @ A.T + 0.1 * np.eye(8), rng.standard_normal((8, 1))
    chosen: list[int] = []
    for _ in range(4):

        def gained(j, chosen=chosen):
            some = [*chosen, j]
            return g[some, 0] @ np.linalg.solve(Q[np.ix_(some, some)], g[some, 0])

        chosen = [*chosen, max((j for j in range(8) if j not in chosen), key=gained)]
    assert choose_by_gain(g, [Q.copy()], 4) == chosen


def test_landmarks_give_the_matrix_back_where_they_take_part():
    K = Gaussian(1.0)(X)
    some = np.arange(0, 40, 3)
    found = span(GRAM, some)
    np.testing.assert_allclose(found.Z[some] @ found.Z.T, K[some], atol=1e-10)
    np.testing.assert_allclose(found.Z, K[:, some] @ found.T)
    np.testing.assert_allclose(found.operator.to_dense(), K[:, some] @ np.linalg.solve(K[np.ix_(some, some)], K[some]))
    left = found.residual(K.diagonal())
    np.testing.assert_allclose(left, (K - found.operator.to_dense()).diagonal(), atol=1e-12)
    assert left.min() > -1e-12
    np.testing.assert_array_equal(found.Z, span_of(K[some], some).Z)
    np.testing.assert_allclose(columns(GRAM, some).dense(), K[:, some], rtol=1e-14)


def test_the_precision_of_samples_changes_no_choice():
    single, random = Gaussian(1.0).gram(X.astype(np.float32)), np.random.RandomState
    for count in (6, 12):
        some = choose_by_rest(GRAM, np.arange(40), count, random(1))
        np.testing.assert_array_equal(choose_by_rest(single, np.arange(40), count, random(1)), some)


def test_a_singular_matrix_is_made_regular():
    dots = X @ X.T  # of rank three
    found = span_of(dots, np.arange(40))
    np.testing.assert_allclose(found.operator.to_dense(), dots, atol=1e-5)
    assert np.isfinite(found.T).all()


def test_what_is_nothing_like_a_kernel_spans_nothing_or_is_refused():
    negative = -np.eye(4)
    assert not span_of(negative, np.arange(4)).Z.any()
    assert not span_of(negative[:0], np.arange(0)).operator.to_dense().any()
    assert root(negative, (0.0, 0.5)) is None
    with pytest.raises(ValueError, match="positive semi-definite"):
        regular_root(Sigmoid(2.0, -1.0).gram(X), np.arange(10))
