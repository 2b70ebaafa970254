"""The C++ sources as a whole, and what Python knows of them."""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NATIVE = ROOT / "native"
STUB = ROOT / "src/mercer/_native.pyi"
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


@pytest.mark.skipif(not STUB.exists(), reason="the sources are not there")
def test_the_stub_is_what_the_module_says_of_itself(tmp_path):
    written = tmp_path / STUB.name
    subprocess.run(
        [sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "mercer._native", "-o", str(written)], check=True
    )
    formatting = [sys.executable, "-m", "ruff", "format", "-q", "--config", str(ROOT / "pyproject.toml")]
    subprocess.run([*formatting, str(written)], check=True)
    assert written.read_text() == STUB.read_text(), "native/bind has changed since: run make stubs, and commit it"
