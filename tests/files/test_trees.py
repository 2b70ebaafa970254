"""The reader of bracketed trees."""

import gzip

import pytest

from mercer.files import read_trees
from mercer.kernels import PartialTree
from mercer.samples import as_trees

NESTED = [("S", ("NP", "he"), ("VP", ("V", "sees"), ("NP", "her"))), ("S", ("VP", "go"))]


@pytest.mark.parametrize(
    "lines",
    [
        ["(S (NP he) (VP (V sees) (NP her)))", "(S (VP go))"],
        ["(S(NP(he))(VP(V(sees))(NP(her))))", "(S(VP(go)))"],
        ["( (S (NP he)", "(VP (V sees)", "  (NP her))))", "", "(S (VP go))"],
        ["(S (NP he) (VP (V sees) (NP her))) (S (VP go))"],
    ],
)
def test_styles(lines, tmp_path):
    expected = as_trees(NESTED)
    assert read_trees(lines) == expected
    (tmp_path / "trees.txt").write_text("\n".join(lines))
    assert read_trees(tmp_path / "trees.txt") == expected
    with gzip.open(tmp_path / "trees.txt.gz", "wt") as file:
        file.write("\n".join(lines))
    trees = read_trees(str(tmp_path / "trees.txt.gz"))
    assert (PartialTree(0.5, 0.5)(trees) == PartialTree(0.5, 0.5)(NESTED)).all()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["(S (NP he))", "(S (NP he)"], "line 2: 1 brackets are not closed"),
        (["(S (NP he))", "", "(S he))"], "line 3: a bracket is closed that was never opened"),
        (["(S ())"], "line 1: a pair of brackets is empty"),
        (["(S he) she"], "line 1: 'she' stands outside all brackets"),
        ([], "no trees"),
    ],
)
def test_malformed_lines_are_named(lines, message):
    with pytest.raises(ValueError, match=message):
        read_trees(lines)


def test_errors_name_the_file(tmp_path):
    (tmp_path / "bad.txt").write_text("(S he)\n(S he))\n")
    with pytest.raises(ValueError, match=r"bad.txt, line 2: a bracket is closed"):
        read_trees(tmp_path / "bad.txt")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_trees(tmp_path / "absent.txt")
