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
        (["(S (NP he))", "(S (NP he)"], r"line 2: the bracket of '\(S' is not closed$"),
        (["(A b)", "(S (NP he", "(S (NP x))", "(A b)"], r"line 2: the bracket of '\(S' is not closed, nor are 1 after"),
        (["(S (NP he))", "", "(S he))"], "line 3: a bracket is closed that was never opened"),
        (["(S ())"], "line 1: a pair of brackets is empty"),
        (["(S he) she"], "line 1: 'she' stands outside all brackets"),
        ([], "no trees"),
    ],
)
def test_malformed_lines_are_named(lines, message):
    with pytest.raises(ValueError, match=message):
        read_trees(lines)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "bad.txt: expected trees but the file is empty; a tree is given as", id="empty"),
        pytest.param(b"\n \n", "bad.txt: expected trees but the file is empty", id="blank"),
        pytest.param(b"(S a)\n(S \xe9)\n", r"bad.txt, line 2: expected text \(UTF-8\)", id="latin"),
        pytest.param(gzip.compress(b"(S a)\n" * 9000)[:40], "bad.txt: the gzipped file is damaged", id="cut gzip"),
        pytest.param(gzip.compress(b"(S a)\n")[:-6] + b"abcdef", "bad.txt: the gzipped file is damaged", id="checksum"),
        pytest.param(b"(S a)\r\n(S (NP he)\r\n(S b)\r\n", "bad.txt, line 2: the bracket of", id="unclosed"),
        pytest.param(b"PK\x03\x04 and no more", "bad.txt: the archive is damaged", id="archive"),
    ],
)
def test_malformed_files_are_named(tmp_path, content, message):
    (tmp_path / "bad.txt").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_trees(tmp_path / "bad.txt")


def test_lines_must_be_text():
    with pytest.raises(TypeError, match="line 2: expected text but got a int: 3"):
        read_trees(["(S a)", 3])


def test_errors_name_the_file(tmp_path):
    (tmp_path / "bad.txt").write_text("(S he)\n(S he))\n")
    with pytest.raises(ValueError, match=r"bad.txt, line 2: a bracket is closed"):
        read_trees(tmp_path / "bad.txt")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_trees(tmp_path / "absent.txt")
