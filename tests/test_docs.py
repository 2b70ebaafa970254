"""The documentation is run: its Python blocks, what they say they print, the files it names, and the examples."""

import inspect
import json
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

import mercer

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: ``print(...)  # text``: the text is printed, with ... for anything.
SAID = re.compile(r"^print\(.*\)  +# (.*)$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
NAMED = re.compile(r"`((?:src|native|tests)/[\w./]*)`")

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def blocks(page):
    """Every Python block, behind as many empty lines as stand before it, so that errors name the right line."""
    text = page.read_text(encoding="utf-8")
    return ["\n" * text[: found.start(1)].count("\n") + found[1] for found in BLOCK.finditer(text)]


@pages
@pytest.mark.slow("runs the whole documentation")
def test_blocks_run_and_print_what_they_say(page, capsys):
    names = {"__name__": page.stem}
    for block in blocks(page):
        exec(compile(block, page, "exec"), names)
        printed = capsys.readouterr().out
        for said in SAID.findall(block):
            pattern = re.escape(said).replace(re.escape("..."), ".*")
            assert re.search(pattern, printed), f"{said!r} is not among what was printed:\n{printed}"


@pages
def test_files_exist(page):
    text = page.read_text(encoding="utf-8")
    missing = [name for name in LINK.findall(text) if not (page.parent / name).exists()]
    missing += [name for name in NAMED.findall(text) if not (ROOT / name).exists()]
    assert not missing


def test_the_table_of_learnt_metrics_is_that_of_the_results():
    text = (ROOT / "docs" / "inspection.md").read_text(encoding="utf-8")
    rows = json.loads((ROOT / "benchmarks" / "results" / "metric.json").read_text(encoding="utf-8"))["rows"]
    assert len(rows) == 6
    for row in rows:
        means = [100 * sum(row[side]) / len(row[side]) for side in ("isotropic", "learnt")]
        assert f"| {row['name']} | {means[0]:.2f} | {means[1]:.2f} |" in text


def test_examples_of_the_readme_are_short():
    lengths = [len(block.strip().splitlines()) for block in blocks(ROOT / "README.md")]
    assert len(lengths) == 3
    assert max(lengths) <= 12


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
@pytest.mark.slow("every example is a process of its own")
def test_examples_are_short_and_run(example):
    assert len(example.read_text(encoding="utf-8").splitlines()) <= 40
    small = os.environ | {"MERCER_SMALL": "1", "MPLBACKEND": "Agg"}
    run = subprocess.run(
        [sys.executable, str(example)], cwd=ROOT, env=small, capture_output=True, text=True, timeout=300
    )
    if run.stderr.startswith("skipped: "):  # data or a library that this machine lacks
        pytest.skip(run.stderr.strip())
    assert run.returncode == 0, run.stderr
    assert run.stdout


def public_names():
    """Every class and function that a public module names in ``__all__``; not constants, not types of annotations."""
    modules = [mercer, *(import_module(m.name) for m in walk_packages(mercer.__path__, "mercer."))]
    for module in modules:
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                yield f"{module.__name__}.{name}", value


@pytest.mark.parametrize("value", [pytest.param(value, id=name) for name, value in public_names()])
def test_public_names_have_an_example(value):
    assert ">>>" in (value.__doc__ or ""), "a docstring of its own, with a doctest"
