"""The C++ sources as a whole."""

import re
from collections import defaultdict
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[1] / "native"
DEFINED = re.compile(r"^(?:template <.*> )?(?:struct|class|enum class) (\w+)(?: final)?(?: : [^;{]*)? \{", re.MULTILINE)
HIDDEN = re.compile(r"^namespace \{$.*?^\} // namespace$", re.MULTILINE | re.DOTALL)
SPACE = re.compile(r"^namespace ([\w:]+) \{$", re.MULTILINE)


@pytest.mark.skipif(not NATIVE.exists(), reason="the sources are not there")
def test_no_name_stands_for_two_types():
    """Of two types of one name the linker keeps the functions of one for both."""
    places = defaultdict(set)
    for path in NATIVE.rglob("*.?pp"):
        if {"tests", "bind"} & set(path.parts):
            continue
        text = HIDDEN.sub("", path.read_text())
        for space in SPACE.findall(text):
            for name in DEFINED.findall(text):
                places[space, name].add(path.relative_to(NATIVE).as_posix())
    assert places["mercer", "Problem"] == {"solvers/problem.hpp"}
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
