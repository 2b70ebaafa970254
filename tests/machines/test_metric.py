"""MahalanobisLearner: its gradient, what it finds, what it leaves alone, and scikit-learn's contract."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import check_grad
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import SVC, KernelRidge, MahalanobisLearner
from mercer.kernels import Exponential, Gaussian
from mercer.machines.metric import indicators, learnt, left_out
from tests.interrupt import interrupted

pytestmark = pytest.mark.slow("a metric is learned by hundreds of small fits")

rng = np.random.default_rng(0)
X = rng.standard_normal((150, 6))
y = (X[:, 0] * X[:, 1] > 0).astype(int)


@parametrize_with_checks([MahalanobisLearner(steps=1, max_samples=40)])
@pytest.mark.slow("scikit-learn's own checks, some fifty of every machine")
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_errors_are_those_of_machines_fitted_without_each_sample():
    x, Y = X[:25], indicators(np.arange(25) % 3, 3)
    A = np.diag(np.linspace(0.2, 1.0, 6))
    error, _, _ = left_out(x, Y, A, 0.3)
    residuals = []
    for i in range(25):
        kept = np.arange(25) != i
        machine = KernelRidge(alpha=0.3, kernel=Gaussian(1.0)).fit(x[kept] @ A, Y[kept])
        residuals.append(machine.predict(x[i : i + 1] @ A)[0] - Y[i])
    assert error == pytest.approx((np.array(residuals) ** 2).sum() / (Y**2).sum())


def test_derivatives():
    x, Y = X[:20, :3], indicators(np.arange(20) % 3, 3)

    def unpacked(t):
        return t[:9].reshape(3, 3), float(t[9])

    def derivative(t):
        _, by_A, by_alpha = left_out(x, Y, *unpacked(t))
        return np.append(by_A.ravel(), by_alpha)

    start = np.append(np.eye(3).ravel() + 0.1 * rng.standard_normal(9), 0.2)
    assert check_grad(lambda t: left_out(x, Y, *unpacked(t))[0], derivative, start) < 1e-6


def test_noise_is_ignored_and_the_rest_is_not():
    learner = MahalanobisLearner().fit(X, y)
    assert learner.structure_ == "diagonal"
    widths = np.diag(learner.factor_) ** 2
    assert widths[:2].min() > 3 * widths[2:].max()
    assert learner.errors_["diagonal"] < learner.errors_["isotropic"]
    wide, learnt_too = (
        cross_val_score(make_pipeline(*steps, SVC(C=10, gamma="scale")), X, y, cv=5).mean()
        for steps in ([], [MahalanobisLearner()])
    )
    assert learnt_too > wide + 0.1


def test_a_rotated_problem_needs_a_full_matrix():
    turn = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    learner = MahalanobisLearner(structure="full", steps=60).fit(X @ turn, y)
    directions = turn @ learner.factor_ @ learner.factor_.T @ turn.T  # of the problem as it was before
    assert np.trace(directions[:2, :2]) > 3 * np.trace(directions[2:, 2:])


def test_a_factor_of_low_rank():
    turn = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    turned = X @ turn
    learner = MahalanobisLearner(structure="full", rank=2, steps=60).fit(turned, y)
    assert learner.factor_.shape == (6, 2)
    of_problem = turn @ learner.factor_
    assert (of_problem[:2] ** 2).sum() > 3 * (of_problem[2:] ** 2).sum()
    Z = learner.transform(turned)
    kernel = Exponential(learner.distance_, beta=2)
    np.testing.assert_allclose(kernel(turned), Gaussian(1.0)(Z), atol=1e-10)
    assert ((Z[:, None] - Z) ** 2).sum(axis=2).mean() == pytest.approx(2)
    nowhere = np.linalg.svd(learner.factor_)[0][:, 2:]  # the directions that do not count
    np.testing.assert_allclose(kernel(turned, turned + 5 * nowhere.sum(axis=1)), kernel(turned), atol=1e-10)


def test_the_metric_of_all_ranks_is_the_whole_one():
    whole = MahalanobisLearner(structure="diagonal", steps=3).fit(X, y)
    metrics = []
    for rank in range(1, 7):
        A = clone(whole).set_params(rank=rank).fit(X, y).factor_
        assert np.linalg.matrix_rank(A) == rank
        metrics.append(A @ A.T)
    np.testing.assert_allclose(metrics[-1], whole.factor_ @ whole.factor_.T, atol=1e-12)
    lost = [np.abs(M / np.trace(M) - metrics[-1] / np.trace(metrics[-1])).sum() for M in metrics]
    assert (np.diff(lost) < 0).all()
    with pytest.raises(ValueError, match="rank is 7, but X has only 6 features"):
        MahalanobisLearner(rank=7).fit(X, y)


def test_the_metric_is_the_mean_of_those_learnt_without_each_part():
    learner = MahalanobisLearner(structure="full", steps=3, cv=4).fit(X, y)
    assert len(learner.folds_) == 4
    np.testing.assert_array_equal(np.sort(np.concatenate([fold.held for fold in learner.folds_])), np.arange(150))
    mean = np.zeros((6, 6))
    for fold in learner.folds_:
        assert not np.intersect1d(fold.kept, fold.held).size
        A = fold.factor / np.sqrt((X @ fold.factor).var(axis=0).sum())
        mean += A @ A.T / 4
    np.testing.assert_allclose(learner.factor_ @ learner.factor_.T, mean, atol=1e-12)


def test_a_part_is_not_seen_by_the_metric_learnt_without_it():
    learner = MahalanobisLearner(structure="diagonal", steps=3)
    fold, another, _ = learner.fit(X, y).folds_
    other = X.copy()
    other[fold.held] = X[fold.held[::-1]]  # of other classes, but with the same mean and scale
    again = learner.fit(other, y).folds_
    np.testing.assert_allclose(fold.factor, again[0].factor, rtol=1e-6)
    assert not np.allclose(another.factor, again[1].factor, rtol=0.01)


def test_nothing_to_learn_leaves_the_isotropic_metric():
    for seed in range(3):
        labels = np.random.default_rng(seed).integers(0, 2, 150)
        learner = MahalanobisLearner().fit(X, labels)
        assert learner.structure_ == "isotropic"
        np.testing.assert_allclose(learner.factor_, learner.factor_[0, 0] * np.eye(6), atol=1e-12)


def test_the_distance_is_that_of_transformed_samples():
    learner = MahalanobisLearner(structure="full").fit(X, y)
    Z = learner.transform(X)
    np.testing.assert_allclose(Exponential(learner.distance_, beta=2)(X), Gaussian(1.0)(Z), atol=1e-10)
    squares = ((Z[:, None] - Z) ** 2).sum(axis=2)
    assert squares.mean() == pytest.approx(2)


def test_scale_of_the_data_does_not_matter():
    small, large = (MahalanobisLearner().fit(s * X + 5, y) for s in (1e-3, 1e3))
    np.testing.assert_allclose(1e-3 * small.factor_, 1e3 * large.factor_, rtol=1e-4)


def test_several_classes_and_labels_of_any_kind():
    for data in (load_iris(), load_wine()):
        points, labels = scale(data.data), data.target_names[data.target]
        pipeline = make_pipeline(StandardScaler(), MahalanobisLearner(), SVC(C=10))
        assert cross_val_score(pipeline, points, labels, cv=3).mean() > 0.93


def test_more_samples_than_are_used_give_the_same_twice():
    learner = MahalanobisLearner(structure="diagonal", max_samples=60, random_state=3)
    first, second = clone(learner).fit(X, y), clone(learner).fit(X, y)
    assert (first.factor_ == second.factor_).all()
    assert not np.allclose(first.factor_, clone(learner).set_params(random_state=4).fit(X, y).factor_)


def test_few_samples_and_constant_data():
    assert MahalanobisLearner().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1]).structure_ == "isotropic"
    assert MahalanobisLearner().fit(np.ones((10, 2)), np.arange(10) % 2).structure_ == "isotropic"
    with pytest.raises(ValueError, match="at least 2 classes"):
        MahalanobisLearner().fit(X, np.zeros(150))


def test_the_machine_that_is_judged_is_kernel_ridge():
    Y = indicators(y, 2)
    (machine,) = learnt(X, Y, ("diagonal",), 5)
    assert np.mean((machine(X) - Y) ** 2) < np.mean(Y**2)
    # What is judged is the library's own Gaussian and its own solution: y - f(x) = alpha a, one alpha for all samples.
    assert machine.function.kernel == Gaussian(1.0)
    alphas = (Y - machine(X)) / machine.function.coefficients
    np.testing.assert_allclose(alphas, alphas[0, 0], rtol=1e-6)


@pytest.mark.stress("sends Ctrl-C into a long fit")
def test_ctrl_c():
    many = np.random.default_rng(0).standard_normal((900, 20))
    machine = MahalanobisLearner(steps=10**6, max_samples=600)
    assert interrupted(lambda: machine.fit(many, many[:, 0] * many[:, 1] > 0)) < 1


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_out(library):
    """As of scikit-learn's transformers: names of columns and rows, through clones, pickles, pipelines."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((60, 4)), columns=list("abcd"), index=range(100, 160))
    labels = X["a"].to_numpy() > 0
    learner = MahalanobisLearner(rank=2, steps=2).set_output(transform=library)
    names = ["mahalanobislearner0", "mahalanobislearner1"]
    plain = MahalanobisLearner(rank=2, steps=2).fit(X, labels)
    for one in (learner.fit(X, labels), pickle.loads(pickle.dumps(learner)), clone(learner).fit(X, labels)):
        assert one.get_feature_names_out().tolist() == names
        for frame in (one.transform(X), one.fit_transform(X, labels)):
            assert type(frame).__module__.startswith(library)
            assert list(frame.columns) == names
            np.testing.assert_array_equal(frame.to_numpy(), plain.transform(X))
            if library == "pandas":
                assert frame.index.equals(X.index)
    chain = make_pipeline(StandardScaler(), MahalanobisLearner(steps=2), SVC()).set_output(transform=library)
    assert chain.fit(X, labels)[:-1].get_feature_names_out().tolist() == [f"mahalanobislearner{i}" for i in range(4)]
    with pytest.raises(NotFittedError):
        MahalanobisLearner().get_feature_names_out()
