"""Pairs of classes that are solved in one call, against the same cells solved one after the other."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs
from sklearn.model_selection import PredefinedSplit, ShuffleSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC
from mercer.kernels import Gaussian
from mercer.selection import one_vs_one, support
from mercer.selection.trials import Trials
from mercer.selection.views import Rows

PRICES = [0.1, 1.0, 30.0, 1000.0]


def blobs(seed=0, classes=5, rows=150):
    """Overlapping classes with names."""
    X, y = make_blobs(rows, n_features=3, centers=classes, cluster_std=4.0, random_state=seed)
    return X, np.array([f"class {c}" for c in y])


@pytest.fixture
def plainly(monkeypatch):
    """Evaluates cells one problem after the other."""

    def evaluate(trials, cells):
        with monkeypatch.context() as within:
            within.setattr(one_vs_one, "takes", lambda *_: False)
            return trials.evaluate_all(cells)

    return evaluate


def by_pairs(monkeypatch):
    """How often pairs were solved together from now on."""
    calls, solved = [], one_vs_one.solved
    monkeypatch.setattr(one_vs_one, "solved", lambda *given: calls.append(1) or solved(*given))
    return calls


MACHINES = {
    "plain": (SVC(gamma=0.1), {}),
    "weighted classes": (SVC(gamma=0.1, class_weight="balanced"), {}),
    "ties": (SVC(gamma=0.1, break_ties=True), {}),
    "values of pairs": (SVC(gamma=0.1, decision_function_shape="ovo"), {}),
    "fine": (SVC(gamma=0.1, tol=1e-6), {}),
    "shuffled": (SVC(gamma=0.1), {"cv": StratifiedKFold(3, shuffle=True, random_state=0)}),
    "drawn": (SVC(gamma=0.1), {"cv": ShuffleSplit(3, random_state=0)}),
    "with scores of the training": (SVC(gamma=0.1), {"return_train_score": True}),
    "linear": (SVC(kernel="linear"), {}),
    "poly": (SVC(kernel="poly", degree=2), {}),
    "scaled by the fold": (SVC(), {}),
}


@pytest.mark.parametrize("name", MACHINES)
def test_scores_are_those_of_cells_one_after_the_other(name, plainly, monkeypatch):
    X, y = blobs()
    machine, given = MACHINES[name]
    cells = [{"C": C} for C in PRICES]
    expected = plainly(Trials(machine, X, y, **given), cells)
    calls = by_pairs(monkeypatch)
    found = Trials(machine, X, y, **given).evaluate_all(cells)
    assert calls
    for one, other in zip(found, expected, strict=True):
        rows = len(y) * (0.1 if name == "drawn" else 1 / len(one.scores["score"]))
        assert np.abs(one.scores["score"] - other.scores["score"]).max() * rows < (0.5 if name == "fine" else 1.5)
        if one.train_scores is not None:
            assert np.abs(one.train_scores["score"] - other.train_scores["score"]).max() * len(y) < 2
        for split, same in zip(one.certificates, other.certificates, strict=True):
            assert len(split) == len(same) == 10
            for mine, theirs in zip(split, same, strict=True):
                assert mine.converged
                assert mine.convex is True
                assert mine.gap >= 0
                assert mine.dual <= theirs.primal * (1 + 1e-9)
                assert theirs.dual <= mine.primal * (1 + 1e-9)


def test_values_and_machines_are_those_of_a_fit(monkeypatch):
    X, y = blobs()
    seen = []

    def scorer(machine, X, y):
        seen.append((machine, machine.decision_function(X), machine.predict(X), X))
        return 0.0

    machine = SVC(gamma=0.1, tol=1e-6)
    calls = by_pairs(monkeypatch)
    trials = Trials(machine, X, y, cv=3, scoring=scorer, n_jobs=1)  # splits in their order
    trials.evaluate_all([{"C": 3.0}])
    assert calls
    assert len(seen) == 3
    for (found, values, labels, rows), (train, _) in zip(seen, trials.splits, strict=True):
        own = SVC(gamma=0.1, tol=1e-6, C=3.0).fit(X[train], y[train])
        np.testing.assert_allclose(values, own.decision_function(rows), atol=1e-4)
        np.testing.assert_array_equal(labels, own.predict(rows))
        np.testing.assert_allclose(found.dual_coef_.sum(axis=0).sum(), own.dual_coef_.sum(), atol=1e-4)
        np.testing.assert_allclose(found.intercept_, own.intercept_, atol=1e-4)
        np.testing.assert_allclose(found.decision_function(rows), values, atol=1e-6)


@pytest.mark.parametrize("shape", ["ovo", "ovr"])
def test_values_that_were_held_out_need_no_fit(shape, monkeypatch):
    X, y = blobs()
    monkeypatch.setattr(SVC, "fit", lambda *_: pytest.fail("fitted"))
    machine = SVC(gamma=0.1, decision_function_shape=shape)
    training = machine._training(X[:120], y[:120], None)
    samples = machine._kernel_and_samples(X)[1]
    gram = training.kernel.gram(samples).hold()
    train, test = np.arange(120), np.arange(120, 150)
    rows = Rows(train, test, X[:120], y[:120], X[120:], y[120:], None, test, train)
    (answered,) = support.solve_chain([machine], rows, samples, lambda _: gram)
    values = answered.values
    exact = training.kernel(X[120:], X[:120])
    compact = np.empty((120, 4))
    contests = answered.found.contests
    compact[contests.order] = contests.compact(answered.found.a[0])
    pair = 0
    for i in range(5):
        for j in range(i + 1, 5):
            own = np.where(training.target == i, compact[:, j - 1], 0)
            own += np.where(training.target == j, compact[:, min(i, 3)], 0)
            expected = exact[:, training.place] @ own + answered.found.facts["bias"][0, pair]
            np.testing.assert_allclose(values[:, pair], expected, atol=1e-5)
            pair += 1
    names = one_vs_one.named(machine, answered.facts, values)
    np.testing.assert_array_equal(answered.known(rows, 0).predict(rows.X_test), names)


def test_samples_of_no_weight_are_no_part_of_it(plainly, monkeypatch):
    X, y = blobs()
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    cells, given = [{"C": C} for C in PRICES], dict(fit_params={"sample_weight": weight})
    expected = plainly(Trials(SVC(gamma=0.1, tol=1e-6), X, y, **given), cells)
    calls = by_pairs(monkeypatch)
    found = Trials(SVC(gamma=0.1, tol=1e-6), X, y, **given).evaluate_all(cells)
    assert calls
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.scores["score"], other.scores["score"])


def test_a_class_that_a_fold_has_not(plainly, monkeypatch):
    X, y = blobs()
    folds = np.where(y == "class 4", 0, np.arange(len(y)) % 3)
    cells = [{"C": C} for C in PRICES]
    expected = plainly(Trials(SVC(gamma=0.1, tol=1e-6), X, y, cv=PredefinedSplit(folds)), cells)
    calls = by_pairs(monkeypatch)
    found = Trials(SVC(gamma=0.1, tol=1e-6), X, y, cv=PredefinedSplit(folds)).evaluate_all(cells)
    assert len(calls) == 3
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.scores["score"], other.scores["score"])
        assert [len(split) for split in one.certificates] == [6, 10, 10]


def test_after_steps_of_a_pipeline(plainly, monkeypatch):
    X, y = blobs()
    machine = make_pipeline(StandardScaler(), SVC(tol=1e-6))
    cells = [{"svc__C": C, "svc__gamma": gamma} for C in PRICES for gamma in ("scale", 0.3)]
    expected = plainly(Trials(machine, X, y), cells)
    calls = by_pairs(monkeypatch)
    found = Trials(machine, X, y).evaluate_all(cells)
    assert len(calls) == 10
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.scores["score"], other.scores["score"])


@pytest.mark.filterwarnings("ignore::mercer.kernels.IndefiniteKernelWarning")
@pytest.mark.parametrize(
    "machine",
    [SVC(gamma=0.1, votes="distance"), SVC(gamma=0.1, strategy="ovr"), SVC(kernel="sigmoid", gamma=0.01)],
    ids=lambda machine: f"{machine.votes} {machine.strategy} {machine.kernel}",
)
def test_what_is_posed_otherwise_goes_its_own_way(machine, monkeypatch):
    X, y = blobs()
    calls = by_pairs(monkeypatch)
    (trial,) = Trials(machine, X, y).evaluate_all([{"C": 1.0}])
    assert not calls
    assert not any(trial.error)


def test_a_given_matrix(plainly):
    X, y = load_iris(return_X_y=True)
    some = np.random.default_rng(0).permutation(len(y))
    K, y = Gaussian(2.0)(X[some], X[some]), y[some]
    cells = [{"C": C} for C in PRICES]
    expected = plainly(Trials(SVC(kernel="precomputed", tol=1e-6), K, y), cells)
    found = Trials(SVC(kernel="precomputed", tol=1e-6), K, y).evaluate_all(cells)
    direct = Trials(SVC(gamma=1 / 8, tol=1e-6), X[some], y).evaluate_all(cells)
    for one, other, third in zip(found, expected, direct, strict=True):
        np.testing.assert_array_equal(one.scores["score"], other.scores["score"])
        np.testing.assert_array_equal(one.scores["score"], third.scores["score"])


def test_a_hard_margin_that_there_is_not_fails_alone():
    X, y = blobs()
    trials = Trials(SVC(kernel="linear"), X, y, cv=3)
    soft, hard = trials.evaluate_all([{"C": 1.0}, {"C": np.inf}])
    assert not any(soft.error)
    assert np.isfinite(soft.scores["score"]).all()
    assert all("NotSeparableError" in error for error in hard.error)


def test_a_price_that_is_none_fails_alone():
    X, y = blobs()
    good, bad = Trials(SVC(gamma=0.1), X, y, cv=3).evaluate_all([{"C": 1.0}, {"C": -1.0}])
    assert not any(good.error)
    assert all("InvalidParameterError" in error for error in bad.error)


@pytest.mark.filterwarnings("ignore:Solver terminated early")
def test_few_steps_are_warned_of(monkeypatch):
    X, y = blobs()
    calls = by_pairs(monkeypatch)
    (trial,) = Trials(SVC(gamma=0.1, max_iter=2), X, y, cv=3).evaluate_all([{"C": 100.0}])
    assert not calls  # each takes the steps of a fit of its own
    assert not all(c.converged for split in trial.certificates for c in split)
    for split in trial.certificates:
        for certificate in split:
            assert certificate.dual <= certificate.primal


def test_few_rows_of_threads_give_the_same_bits():
    X, y = blobs(rows=400)
    cells = [{"C": C, "gamma": gamma} for C in PRICES for gamma in (0.01, 0.1, 1.0)]
    one = Trials(SVC(), X, y, n_jobs=1).evaluate_all(cells)
    two = Trials(SVC(), X, y, n_jobs=2).evaluate_all(cells)
    for first, second in zip(one, two, strict=True):
        np.testing.assert_array_equal(first.scores["score"], second.scores["score"])
        assert [tuple(c) for c in first.certificates] == [tuple(c) for c in second.certificates]
