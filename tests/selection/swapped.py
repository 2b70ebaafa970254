"""scikit-learn's tests of its model selection, with our machines, searches and functions in place of theirs.

They run twice: as a user meets them, where what is no machine of ours is left to scikit-learn; and with nothing left to
it, so that every estimator of theirs goes through ``Trials``.
"""

import importlib
import sys
from contextlib import contextmanager
from types import ModuleType
from unittest import mock

import sklearn.experimental.enable_halving_search_cv
import sklearn.model_selection
import sklearn.svm

import mercer
from mercer import selection
from mercer.selection import evaluation, validation

#: What has scikit-learn's name and stands in its place; ``LeaveOneOut``, there a splitter, is something else here.
TOOLS = {
    name: getattr(selection, name)
    for name in selection.__all__
    if name != "LeaveOneOut" and hasattr(sklearn.model_selection, name)
}
MACHINES = {name: getattr(mercer, name) for name in sklearn.svm.__all__ if hasattr(mercer, name)}


def peer_tests(name: str, excluded: dict[str, str]) -> tuple[ModuleType, dict[str, object]]:
    """A module of ``sklearn.model_selection.tests``, and its tests without the excluded ones."""
    module = fresh(f"sklearn.model_selection.tests.{name}")
    unknown = excluded.keys() - vars(module).keys()
    assert not unknown, f"{name} has no {unknown}"
    tests = {key: value for key, value in vars(module).items() if key.startswith("test_") and key not in excluded}
    return module, tests


def fresh(name: str) -> ModuleType:
    """The module, imported anew while scikit-learn's packages hold our names; scikit-learn itself stays as it is."""
    with (
        mock.patch.multiple(sklearn.svm, **MACHINES),
        mock.patch.multiple(sklearn.model_selection, **TOOLS),
        mock.patch.dict(sys.modules),
    ):
        for cached in [key for key in sys.modules if key.startswith("sklearn.model_selection.tests")]:
            del sys.modules[cached]
        module = importlib.import_module(name)
    for key, value in (MACHINES | TOOLS).items():
        assert getattr(module, key, value) is value, f"{name} has {key} from elsewhere"
    return module


def in_place(module: ModuleType):
    """While a test runs, its module is the one that is imported by its name, as pickles need."""
    return mock.patch.dict(sys.modules, {module.__name__: module})


@contextmanager
def nothing_left():
    """Every estimator goes through ``Trials``."""
    with (
        mock.patch.object(evaluation.Search, "_unshared", return_value=None),
        mock.patch.object(validation, "unshared", return_value=None),
    ):
        yield
