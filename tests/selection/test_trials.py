"""The engine of searches against honest refits: what is shared must change nothing that anybody sees."""

import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import (
    KFold,
    LeaveOneGroupOut,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, SVR, KernelRidge, NuSVC, NuSVR, OneClassSVM
from mercer.kernels import Gaussian, Linear, Polynomial, Spectrum
from mercer.selection import GridSearchCV, Trials
from mercer.selection.matrices import Layout

rng = np.random.default_rng(7)
N = 150
X = rng.standard_normal((N, 4)) * [1, 2, 0.5, 1]
TWO = np.where(X[:, 0] * X[:, 1] + 0.4 * rng.standard_normal(N) > 0, "yes", "no")
FOUR = (X[:, 0] > 0) * 2 + (X[:, 1] + 0.3 * rng.standard_normal(N) > 0)
WAVE = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(N)
WORDS = [
    "".join(rng.choice(list("abc"), size=rng.integers(8, 20), p=[p, 0.8 - p, 0.2]))
    for p in np.where(TWO == "yes", 0.5, 0.3)
]
SURE = {"tol": 1e-7}
PRICES = [{"C": C} for C in (0.1, 1.0, 30.0)]
CASES = {
    "two classes": (SVC(**SURE), X, TWO, PRICES),
    "widths": (SVC(**SURE), X, TWO, [{"C": 1.0, "gamma": g} for g in (0.01, 0.1, 1.0)] + PRICES),
    "four classes": (SVC(**SURE), X, FOUR, PRICES),
    "one against the rest": (SVC(strategy="ovr", **SURE), X, FOUR, PRICES),
    "distances": (SVC(votes="distance", **SURE), X, FOUR, PRICES),
    "class weights": (SVC(class_weight="balanced", **SURE), X, FOUR, PRICES),
    "median": (SVC(kernel=Gaussian("median"), **SURE), X, TWO, PRICES),
    "centred": (SVC(kernel=(Gaussian(1.0) + Linear()).centered(), **SURE), X, TWO, PRICES),
    "normalized": (SVC(kernel=Polynomial(3).normalized(), **SURE), X, TWO, PRICES),
    "kernels": (
        SVC(**SURE),
        X,
        TWO,
        [{"kernel": k} for k in ("linear", "poly", Gaussian(2.0), Gaussian(1) * Linear())],
    ),
    "float32": (SVC(**SURE), X.astype(np.float32), TWO, PRICES),
    "sparse": (SVC(**SURE), sp.csr_array(np.where(X > 0.5, X, 0)), TWO, PRICES),
    "strings": (SVC(kernel=Spectrum(3).normalized(), **SURE), WORDS, TWO, PRICES),
    "given": (SVC(kernel="precomputed", **SURE), np.exp(-0.2 * np.square(X[:, None] - X[None]).sum(-1)), TWO, PRICES),
    "scaled before": (make_pipeline(StandardScaler(), SVC(**SURE)), X, TWO, [{"svc__C": C} for C in (0.1, 10.0)]),
    "scaling searched": (
        make_pipeline(StandardScaler(), SVC(**SURE)),
        X,
        TWO,
        [{"standardscaler__with_mean": m, "svc__gamma": g} for m in (True, False) for g in ("scale", 0.3)],
    ),
    "shares": (NuSVC(**SURE), X, TWO, [{"nu": nu} for nu in (0.5, 0.2, 0.4)]),
    "regression": (SVR(**SURE), X, WAVE, [{"C": C, "epsilon": e} for C in (10.0, 0.5) for e in (0.05, 0.3)]),
    "shares of a tube": (NuSVR(**SURE), X, WAVE, [{"C": C, "nu": nu} for C in (0.5, 5.0) for nu in (0.3, 0.7)]),
    "penalties": (KernelRidge(kernel="rbf"), X, WAVE, [{"alpha": a} for a in (0.01, 1.0)]),
}
SPLITS = {
    "folds": KFold(3, shuffle=True, random_state=0),
    "two": KFold(
        2, shuffle=True, random_state=0
    ),  # of which problems with two coefficients a sample have all rows' size
    "overlapping": RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
    "few to train on": ShuffleSplit(3, train_size=0.3, test_size=0.2, random_state=0),
}
PAIRS = [(name, "folds") for name in CASES] + [
    (name, splits) for name in ("four classes", "shares of a tube", "shares", "penalties") for splits in SPLITS
]


def rows(data, index):
    return [data[i] for i in index] if isinstance(data, list) else data[index]


@pytest.mark.parametrize(("name", "splits"), list(dict.fromkeys(PAIRS)))
def test_every_split_says_what_a_fit_of_its_own_says(name, splits):
    machine, data, y, cells = CASES[name]
    trials = Trials(machine, data, y, cv=SPLITS[splits], return_train_score=True)
    assert trials.shares(cells) is None
    for trial, cell in zip(trials.evaluate_all(cells), cells, strict=True):
        assert trial.params == cell
        assert trial.error == (None,) * len(trials.splits)
        for split, (train, test) in enumerate(trials.splits):
            own = clone(machine).set_params(**cell)
            if name == "given":
                own.fit(data[np.ix_(train, train)], y[train])
                test_rows, train_rows = data[np.ix_(test, train)], data[np.ix_(train, train)]
            else:
                own.fit(rows(data, train), y[train])
                test_rows, train_rows = rows(data, test), rows(data, train)
            assert trial.scores["score"][split] == pytest.approx(own.score(test_rows, y[test]), abs=2e-5)
            assert trial.train_scores["score"][split] == pytest.approx(own.score(train_rows, y[train]), abs=2e-5)
            found = trial.certificates[split]
            assert all(one.converged for one in ([found] if hasattr(found, "converged") else found))


def test_weights_belong_to_their_samples():
    weight = rng.uniform(0.0, 3.0, size=N)
    weight[::11] = 0
    trials = Trials(SVC(**SURE), X, FOUR, cv=SPLITS["folds"], fit_params={"sample_weight": weight})
    assert trials.shares(PRICES) is None
    for trial, cell in zip(trials.evaluate_all(PRICES), PRICES, strict=True):
        for split, (train, test) in enumerate(trials.splits):
            own = SVC(**cell, **SURE).fit(X[train], FOUR[train], weight[train])
            assert trial.scores["score"][split] == own.score(X[test], FOUR[test])


@pytest.mark.filterwarnings("ignore:Solver terminated early")
@pytest.mark.parametrize("y", [TWO, FOUR], ids=["two", "four"])
def test_steps_that_are_counted_are_those_of_a_fit_of_its_own(y):
    trials = Trials(SVC(max_iter=5), X, y, cv=SPLITS["folds"])
    for trial, cell in zip(trials.evaluate_all(PRICES), PRICES, strict=True):
        for split, (train, test) in enumerate(trials.splits):
            own = SVC(max_iter=5, **cell).fit(X[train], y[train])
            assert np.sum(trials.predictions(cell)[test] != own.predict(X[test])) <= 1
            assert trial.scores["score"][split] == pytest.approx(own.score(X[test], y[test]), abs=1.01 / len(test))


def test_a_class_that_a_split_never_saw():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trial = Trials(SVC(), X, FOUR, cv=LeaveOneGroupOut(), groups=FOUR).evaluate({})
    assert (trial.scores["score"] == 0).all()


@pytest.mark.parametrize("name", ["widths", "four classes", "regression", "scaling searched", "penalties"])
def test_the_number_of_threads_changes_no_bit(name):
    machine, data, y, cells = CASES[name]
    one, many = (Trials(machine, data, y, cv=3, n_jobs=jobs, scoring=None).evaluate_all(cells) for jobs in (1, 3))
    for a, b in zip(one, many, strict=True):
        assert (a.scores["score"] == b.scores["score"]).all()
        assert a.certificates == b.certificates


@pytest.mark.parametrize("name", ["two classes", "four classes", "regression", "penalties"])
def test_predictions_need_no_other_fit(name):
    machine, data, y, cells = CASES[name]
    trials = Trials(machine, data, y, cv=SPLITS["folds"])
    trials.evaluate_all(cells)
    expected = cross_val_predict(clone(machine).set_params(**cells[0]), data, y, cv=trials.splits)
    found = trials.predictions(cells[0])
    if found.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, atol=1e-5)
    else:
        assert (found == expected).all()


def test_little_memory_changes_what_is_shared_and_not_what_comes_out():
    machine, data, y, cells = CASES["widths"]
    expected = Trials(machine, data, y, cv=3).evaluate_all(cells)
    for budget in (0.7, 0.2, 0.01):
        trials = Trials(machine, data, y, cv=3, cache_size=budget)
        for a, b in zip(trials.evaluate_all(cells), expected, strict=True):
            assert (a.scores["score"] == b.scores["score"]).all()
    layouts = [Layout.of(1000, budget * 2**20, 5) for budget in (20, 13, 2)]
    assert [(one.reduction, one.held) for one in layouts] == [
        (np.dtype(np.float64), True),
        (None, True),
        (None, False),
    ]


def test_the_plan_says_what_is_shared():
    machine, data, y, cells = CASES["widths"]
    plan = Trials(machine, data, y, cv=3).plan(cells)
    assert (plan.cells, plan.fits, plan.alone, plan.held) == (6, 18, 0, True)
    assert plan.reduction == "float64"
    assert "one reduction" in str(plan)
    assert Trials(KernelRidge(), X, WAVE).plan([{}]).nbytes > 0


def test_scorers_may_ask_for_the_machine():
    def vectors(machine, X, y):
        return float(len(machine.support_))

    trial = Trials(SVC(**SURE), X, TWO, cv=SPLITS["folds"], scoring=vectors).evaluate({"C": 2.0})
    for split, (train, _) in enumerate(SPLITS["folds"].split(X)):
        assert trial.scores["score"][split] == len(SVC(C=2.0, **SURE).fit(X[train], TWO[train]).support_)


@pytest.mark.parametrize("scoring", ["roc_auc", "f1_macro", ["accuracy", "balanced_accuracy"], "neg_log_loss"])
def test_scores_of_every_kind(scoring):
    y = (TWO == "yes").astype(int)
    machine = SVC(**SURE) if scoring != "neg_log_loss" else None
    if machine is None:
        from mercer import KernelLogistic

        machine = KernelLogistic(tol=1e-9)
    ours = GridSearchCV(machine, {"C": [0.5, 5]}, scoring=scoring, refit=False, cv=3).fit(X, y).cv_results_
    for name in (n for n in ours if n.startswith("mean_test")):
        assert np.isfinite(ours[name]).all()
    from sklearn import model_selection

    theirs = model_selection.GridSearchCV(machine, {"C": [0.5, 5]}, scoring=scoring, refit=False, cv=3).fit(X, y)
    for name in (n for n in ours if n.startswith("mean_test")):
        np.testing.assert_allclose(ours[name], theirs.cv_results_[name], atol=1e-6)


def test_outliers():
    cells = [{"nu": nu} for nu in (0.1, 0.4)]
    trials = Trials(OneClassSVM(**SURE), X, cv=3, scoring=lambda machine, X, y=None: machine.predict(X).mean())
    for trial, cell in zip(trials.evaluate_all(cells), cells, strict=True):
        for split, (train, test) in enumerate(trials.splits):
            assert trial.scores["score"][split] == OneClassSVM(**cell, **SURE).fit(X[train]).predict(X[test]).mean()


class TestCuts:
    @pytest.mark.parametrize("seed", range(50))
    def test_the_best_cell_is_that_of_a_whole_search(self, seed):
        chance = np.random.default_rng(seed)
        n = int(chance.integers(40, 90))
        data = chance.standard_normal((n, 3))
        y = (data[:, 0] + chance.uniform(0, 2) * chance.standard_normal(n) > 0).astype(int)
        grid = {
            "C": np.exp(chance.uniform(-4, 5, size=chance.integers(2, 6))).tolist(),
            "gamma": np.exp(chance.uniform(-5, 4, size=chance.integers(1, 5))).tolist(),
        }
        cv = StratifiedKFold(int(chance.integers(2, 6)), shuffle=True, random_state=seed)
        whole = GridSearchCV(SVC(), grid, cv=cv, refit=False).fit(data, y)
        cut = GridSearchCV(SVC(), grid, cv=cv, refit=False, cut="safe").fit(data, y)
        assert cut.best_params_ == whole.best_params_
        assert cut.best_score_ == whole.best_score_
        evidence = cut.cv_results_["evidence"]
        exact = evidence == "exact"
        np.testing.assert_array_equal(
            np.asarray(cut.cv_results_["mean_test_score"])[exact], whole.cv_results_["mean_test_score"][exact]
        )
        low, high = cut.cv_results_["evidence_low"], cut.cv_results_["evidence_high"]
        for i in np.flatnonzero(evidence == "bounded"):
            assert low[i] - 1e-12 <= whole.cv_results_["mean_test_score"][i] <= high[i] + 1e-12
            assert high[i] < whole.best_score_

    def test_something_is_cut(self):
        cells = [{"C": 1.0, "gamma": g} for g in (0.1, 1e4, 2e4, 5e4)]
        trials = Trials(SVC(), X, FOUR, cv=5, cut="safe").evaluate_all(cells)
        assert [trial.evidence for trial in trials].count("bounded") >= 2
        raced = Trials(SVC(), X, FOUR, cv=5, cut="race").evaluate_all(cells)
        assert {trial.evidence for trial in raced} == {"exact", "raced"}

    def test_what_is_scaled_split_by_split_is_cut_alike(self):
        scaled = make_pipeline(StandardScaler(), SVC())
        grid = {"svc__C": [0.1, 1.0], "svc__gamma": [0.1, 1e4, 2e4, 5e4]}
        whole, cut = (GridSearchCV(scaled, grid, cv=5, refit=False, cut=how).fit(X, FOUR) for how in (None, "safe"))
        assert (cut.best_params_, cut.best_score_) == (whole.best_params_, whole.best_score_)
        assert "bounded" in cut.cv_results_["evidence"]

    @pytest.mark.parametrize("cut", ["safe", "race"])
    def test_what_is_fitted_alone_after_all_is_not_cut(self, cut):
        framed = make_pipeline(StandardScaler().set_output(transform="pandas"), SVC())  # frames are not put together
        cells = [{"svc__C": C} for C in (0.1, 1.0)]
        whole, found = (Trials(framed, X, TWO, cv=3, cut=how).evaluate_all(cells) for how in (None, cut))
        assert {trial.evidence for trial in found} == {"exact"}
        for one, other in zip(found, whole, strict=True):
            np.testing.assert_array_equal(one.scores["score"], other.scores["score"])

    def test_what_has_no_best_score_is_not_cut(self):
        trials = Trials(SVC(), X, TWO, cv=3, cut="safe", scoring=lambda machine, X, y: 1.0).evaluate_all(PRICES)
        assert {trial.evidence for trial in trials} == {"exact"}
        with pytest.raises(ValueError, match="cut must be 'safe', 'race' or None"):
            Trials(SVC(), X, TWO, cut="brave")


def test_ctrl_c_keeps_what_is_finished():
    finished = []

    def stop(number, trial):
        finished.append(number)
        if len(finished) == 3:
            signal.raise_signal(signal.SIGINT)

    big = np.random.default_rng(0).standard_normal((600, 5))
    y = (big[:, 0] > 0).astype(int)
    cells = [{"C": C, "gamma": g} for g in np.logspace(-3, 2, 30) for C in (1, 100)]
    for jobs in (1, 2):
        finished.clear()
        before = threading.active_count()
        with pytest.raises(KeyboardInterrupt):
            Trials(SVC(), big, y, n_jobs=jobs).evaluate_all(cells, stop)
        assert 3 <= len(finished) < 60
        assert threading.active_count() <= before + 1  # which may be on its way out


SCRIPT = """
import sys, numpy as np
from mercer import SVC
from mercer.selection import GridSearchCV
rng = np.random.default_rng(0)
X = rng.standard_normal((400, 5)); y = (X[:, 0] * X[:, 1] > 0).astype(int)
grid = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": np.logspace(-2, 1, 40).tolist()}
search = GridSearchCV(SVC(), grid, cv=3, refit=False, checkpoint=sys.argv[1] or None, verbose=3).fit(X, y)
print("scores", [x.hex() for x in search.cv_results_["mean_test_score"].tolist()])
"""


def scores_of(checkpoint, kill=False):
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(checkpoint)], stdout=subprocess.PIPE, text=True)
    if kill:
        while os.path.getsize(checkpoint) < 20_000 if os.path.exists(checkpoint) else True:
            time.sleep(0.01)
            if process.poll() is not None:
                break
        process.kill()
        process.communicate()
        return None
    lines = process.communicate()[0].splitlines()
    assert process.returncode == 0
    return next(line for line in lines if line.startswith("scores"))


@pytest.mark.slow("three searches in processes of their own, one of which is killed")
def test_a_search_that_was_killed_goes_on(tmp_path):
    path = tmp_path / "search"
    expected = scores_of("")
    scores_of(path, kill=True)
    before = path.read_bytes()
    assert len(before) >= 20_000
    path.write_bytes(before[:-7])  # the last line was being written
    assert scores_of(path) == expected
    assert len(path.read_bytes()) > len(before)
    assert scores_of(path) == expected  # all from the file


class TestCheckpoint:
    def search(self, path, **changed):
        given = {"grid": {"C": [0.1, 1.0]}, "X": X, "y": TWO, **changed}
        return GridSearchCV(SVC(), given["grid"], cv=3, checkpoint=path).fit(given["X"], given["y"])

    def test_certificates_come_back(self, tmp_path):
        first, second = (self.search(tmp_path / "a") for _ in range(2))
        assert first.certificates_ == second.certificates_
        np.testing.assert_array_equal(first.cv_results_["mean_test_score"], second.cv_results_["mean_test_score"])

    def test_another_search_is_refused(self, tmp_path):
        self.search(tmp_path / "a")
        with pytest.raises(ValueError, match="another search"):
            self.search(tmp_path / "a", X=X + 1)
        more = self.search(tmp_path / "a", grid={"C": [0.1, 1.0, 5.0]})  # of the same machine, samples and splits
        assert len(more.cv_results_["params"]) == 3

    @pytest.mark.parametrize("place", [3, 40, 300, -300])
    def test_damage_is_an_error(self, tmp_path, place):
        path = tmp_path / "a"
        self.search(path)
        data = bytearray(path.read_bytes())
        data[place] ^= 1
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"damaged|another search|no file of a search"):
            self.search(path)

    def test_cells_that_come_one_by_one_are_told_apart(self, tmp_path):
        cells = [{"C": C, "gamma": g} for C in np.geomspace(1e-4, 100, 12) for g in (1e-4, 1e-2, 1.0, 100.0)]
        with Trials(SVC(), X, TWO, cv=2, checkpoint=tmp_path / "a") as trials:
            expected = [trials.evaluate(cell).scores["score"].tolist() for cell in cells]
        with Trials(SVC(), X, TWO, cv=2, checkpoint=tmp_path / "a") as trials:
            assert len(trials.checkpoint.known) == 2 * len(cells)
            assert [trials.evaluate(cell).scores["score"].tolist() for cell in cells] == expected

    def test_a_scorer_is_known_by_its_name(self, tmp_path):
        def scorer():
            def score(machine, X, y):
                return machine.score(X, y)

            return score

        for read in (0, 2):  # another object each time, as in another process
            with Trials(SVC(), X, TWO, cv=2, scoring=scorer(), checkpoint=tmp_path / "a") as trials:
                assert len(trials.checkpoint.known) == read
                trials.evaluate({"C": 1.0})

    def test_a_folder_is_refused(self, tmp_path):
        with pytest.raises(ValueError, match="folder"):
            self.search(tmp_path)


def test_ask_and_tell():
    trials = Trials(SVC(), X[:60], TWO[:60], cv=2)
    with pytest.raises(ValueError, match="no trial"):
        _ = trials.best
    for _ in range(3):
        cell = trials.ask()
        trials.tell(trials.evaluate(cell))
    scores = [float(trial.scores["score"].mean()) for trial in trials._told]
    assert float(trials.best.scores["score"].mean()) == max(scores)
    assert len({str(trial.params) for trial in trials._told}) == 3


def test_predictions_of_penalties_for_each_target():
    y = np.stack([WAVE, X[:, 0]], axis=1)
    trials = Trials(KernelRidge(kernel="rbf"), X, y, cv=3)
    cells = [{"alpha": np.array([0.1, other])} for other in (1.0, 10.0)]
    trials.evaluate_all(cells)
    for cell in cells:
        expected = cross_val_predict(KernelRidge(kernel="rbf", **cell), X, y, cv=3)
        np.testing.assert_allclose(trials.predictions(cell), expected, rtol=1e-6)
