"""scikit-learn's test modules, loaded with our estimators in place of theirs."""

import importlib
import sys
from types import ModuleType, SimpleNamespace
from unittest import mock

import sklearn.svm

import mercer

#: The estimators of ``sklearn.svm`` that we have.
OURS = {name: getattr(mercer, name) for name in sklearn.svm.__all__ if hasattr(mercer, name)}


def peer_tests(name: str, excluded: dict[str, str]) -> dict[str, object]:
    """The tests of a module of ``sklearn.svm.tests``, without the excluded ones; scikit-learn itself stays as it is."""
    module = fresh(f"sklearn.svm.tests.{name}")
    unknown = excluded.keys() - vars(module).keys()
    assert not unknown, f"{name} has no {unknown}"
    return {key: value for key, value in vars(module).items() if key.startswith("test_") and key not in excluded}


def fresh(name: str) -> ModuleType:
    """The module, imported anew while ``sklearn.svm`` holds our classes: its parameters and its names are then ours."""
    with mock.patch.multiple(sklearn.svm, **OURS), mock.patch.dict(sys.modules):
        for cached in [key for key in sys.modules if key.startswith("sklearn.svm.tests")]:
            del sys.modules[cached]
        module = importlib.import_module(name)
    for owner in (module, getattr(module, "test_svm", None)):
        if owner is not None:
            owner.svm = SimpleNamespace(**{**vars(sklearn.svm), **OURS})
    return module
