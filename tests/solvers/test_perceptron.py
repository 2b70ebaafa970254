"""The learners behind the perceptrons: passes in any order, blocks of any height, and what a pool keeps."""

import numpy as np
import pytest

from mercer import costs
from mercer.kernels import Gaussian
from mercer.solvers.perceptron import Classification, DualLearner

rng = np.random.default_rng(0)
X = rng.standard_normal((150, 3))
LABEL = (np.abs(X[:, 0]) > 0.7).astype(np.int64) + (X[:, 1] > 0)


@pytest.mark.parametrize("budget", [0, 12])
def test_blocks_of_any_height_make_the_same_pass(budget, monkeypatch):
    gram = Gaussian(1.0).gram(X)
    problem = Classification(LABEL, np.ones(150), 3, 1.0)
    learners = []
    for height in (5, 64, 1000):
        monkeypatch.setattr(costs, "MOST_EXAMPLES", height)
        monkeypatch.setattr(costs, "FEWEST_EXAMPLES", height)
        learner = DualLearner.empty(150, 3, budget)
        mistakes = [learner.learn(gram, problem, np.arange(150)) for _ in range(2)]
        learners.append((learner, mistakes))
    first, counted = learners[0]
    for learner, mistakes in learners[1:]:
        np.testing.assert_array_equal(counted, mistakes)
        np.testing.assert_array_equal(first.coefficients, learner.coefficients)
        np.testing.assert_array_equal(first.support, learner.support)
        np.testing.assert_allclose(first.averaged()[0], learner.averaged()[0])
    assert not budget or len(first.support) == budget


def test_a_pool_may_shrink_to_its_support_and_grow():
    problem = Classification(LABEL, np.ones(150), 3, 1.0)
    learner = DualLearner.empty(150, 3)
    learner.learn(Gaussian(1.0).gram(X), problem, np.arange(150)[::-1])
    assert learner.support[0] == 149  # the oldest first
    small = learner.kept()
    assert small.coefficients.shape == (len(learner.support), 3)
    np.testing.assert_array_equal(small.coefficients, learner.coefficients[learner.support])
    assert small.widened(4).coefficients.shape == (len(small.support) + 4, 3)
    assert small.clock == 150
