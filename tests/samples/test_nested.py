"""Trees that are very deep, or that contain themselves: read, pickled, or refused in words."""

import pickle

import nltk
import numpy as np
import pandas as pd
import polars as pl
import pytest

from mercer import SVC, SVR, KernelLogistic, KernelNeighborsClassifier, KernelPCA, KernelRidge, NuSVC, OneClassSVM
from mercer.kernels import Custom, Gaussian, SetKernel, Spectrum, Subtree
from mercer.samples import as_graphs, as_samples, as_sequences, as_trees
from mercer.samples.nested import LEVELS, Nested, is_deep, portable

DEPTH = 3_000
MACHINES = [SVC, NuSVC, SVR, KernelRidge, KernelLogistic, OneClassSVM, KernelNeighborsClassifier, KernelPCA]


def chain(depth, leaf):
    tree = leaf
    for _ in range(depth):
        tree = ("N", tree)
    return tree


def nltk_chain(depth, leaf):
    tree = nltk.Tree("N", [leaf])
    for _ in range(depth - 1):
        tree = nltk.Tree("N", [tree])
    return tree


DEEP, Y = [chain(DEPTH, "a"), chain(30, "b"), ("N", "a"), ("N", ("M", "b"), "a")], np.array([0, 1, 0, 1])
K = Subtree().normalized()


def loaded(thing):
    return pickle.loads(pickle.dumps(thing))


@pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.__name__)
@pytest.mark.parametrize("given", ["list", "array", "flat", "nltk"])
@pytest.mark.slow("trees of many levels in every machine")
def test_machines_on_deep_trees_are_pickled(machine, given):
    X = {
        "list": DEEP,
        "array": np.array([*DEEP, None], dtype=object)[:-1],
        "flat": as_trees(DEEP),
        "nltk": [nltk_chain(DEPTH, "a"), *DEEP[1:]],
    }[given]
    parameters = {"n_neighbors": 2} if machine is KernelNeighborsClassifier else {}
    fitted = machine(kernel=K, **parameters).fit(X, Y)
    again = loaded(fitted)
    predict = "transform" if machine is KernelPCA else "predict"
    assert (getattr(again, predict)(X) == getattr(fitted, predict)(X)).all()
    assert repr(again) == repr(fitted)
    assert len(repr(again.kernel_)) < 100
    for name in ("support_vectors_", "X_fit_"):
        if hasattr(fitted, name):
            kept, kept_again = getattr(fitted, name), getattr(again, name)
            assert type(kept_again) is type(kept)
            assert [type(tree) for tree in kept_again] == [type(tree) for tree in kept]
            assert as_trees(kept_again) == as_trees(kept)


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_machines_on_columns_of_deep_trees_are_pickled(library):
    kind = object if library is pd else pl.Object
    frame = library.DataFrame({"tree": library.Series(DEEP, dtype=kind), "x": [1.0, 2.0, 3.0, 4.0]})
    fitted = SVC(kernel=K.on("tree") + Gaussian(1).on("x")).fit(frame, Y)
    again = loaded(fitted)
    assert (again.decision_function(frame) == fitted.decision_function(frame)).all()
    if library is pd:
        assert list(again.support_vectors_.columns) == ["tree", "x"]
        assert frame["tree"][0] is DEEP[0]


def test_samples_of_deep_trees_are_pickled():
    trees = as_trees(DEEP)
    assert loaded(trees) == trees
    assert loaded(trees[0]) == trees[0]
    assert loaded(K.in_columns_of(trees)).features(trees).shape == K.in_columns_of(trees).features(trees).shape
    assert (K(trees.content()) == K(trees)).all()
    assert repr(loaded(as_samples(DEEP))) == "<4 objects of type tuple>"


@pytest.mark.slow("as deep as a recursion never gets")
def test_a_hundred_thousand_levels_are_pickled():
    X = [chain(100_000, "a"), *DEEP[1:]]
    fitted = SVC(kernel=K).fit(X, Y)
    assert (loaded(fitted).decision_function(X[1:]) == fitted.decision_function(X[1:])).all()


def test_objects_are_pickled_and_compared_however_deep():
    objects = as_samples(DEEP)
    assert hash(objects.fingerprint()) == hash(as_samples(DEEP).fingerprint())
    again = loaded(objects)
    assert again.items[1:] == objects.items[1:]
    assert as_trees(again) == as_trees(objects)
    count = Custom(lambda a, b: float(len(a) == len(b)), pairwise=True)
    assert (count(again) == count(objects)).all()


def test_what_is_nested_comes_back_as_it_was():
    shared = ["x", 1.5, None]
    deep = [chain(300, ("a", shared)), shared, nltk_chain(300, "a"), ()]
    again = loaded(Nested(deep))
    assert again[1:2] == deep[1:2] == [shared]
    assert again[1] is not shared
    assert type(again[2]) is nltk.Tree
    assert as_trees(again[2:3]) == as_trees(deep[2:3])
    assert again[3] == ()
    below = again[0]
    for _ in range(300):
        below = below[1]
    assert below[1] is again[1]  # as pickle would keep it


def test_what_pickle_can_write_is_left_to_it():
    shallow = chain(LEVELS // 2, "a")
    for items in ([shallow], (shallow, "text"), np.array([shallow, 3, None], dtype=object)):
        assert portable(items) is items
    assert not is_deep("text")
    assert is_deep(chain(LEVELS + 1, "a"))
    wide = ("N", *[("M", "a")] * 1000)
    for _ in range(60):
        wide = ("N", wide, wide)  # 2^60 nodes, but each is there once
    assert not is_deep(wide)
    assert loaded([wide])[0][1] is not None


def _endless_lists():
    tree = ["S", ["NP", "he"]]
    tree[1].append(tree)
    return tree


def _endless_nltk():
    tree = nltk.Tree.fromstring("(S (NP he) (VP runs))")
    tree[1].append(tree[1])
    return tree


ENDLESS = {"lists": _endless_lists(), "nltk": _endless_nltk(), "within a tuple": ("S", _endless_lists())}


@pytest.mark.parametrize("tree", ENDLESS.values(), ids=ENDLESS.keys())
def test_trees_without_end_are_refused(tree):
    message = "tree 1 has no end: the node '(S|VP)' is among its own descendants"
    with pytest.raises(ValueError, match=message):
        as_trees([("S", "he"), tree])
    with pytest.raises(ValueError, match=message):
        SVC(kernel=K).fit([("S", "he"), tree], [0, 1])
    assert not isinstance(portable([tree])[0], tuple)


def test_a_node_may_stand_in_several_places():
    word = ["NP", "her"]
    assert as_trees([["S", word, ["VP", word]]]) == as_trees(["(S (NP her) (VP (NP her)))"])
    leaf = nltk.Tree("X", [])
    assert as_trees([nltk.Tree("S", [leaf, nltk.Tree("Y", [leaf])])]) == as_trees(["(S X (Y X))"])


def test_lists_without_end_are_refused_by_every_door():
    endless = []
    endless.append(endless)
    for read in (as_graphs, as_sequences, Gaussian(1), Spectrum(2), SetKernel(Gaussian(1)), SetKernel(Subtree())):
        for X in (endless, [endless, endless], [[endless], [endless]]):
            with pytest.raises((TypeError, ValueError)) as error:
                read(X)
            assert len(str(error.value)) < 1000
