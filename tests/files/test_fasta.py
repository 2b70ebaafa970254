"""FASTA and FASTQ files: plain, gzipped, in an archive, and malformed."""

import gzip
import zipfile

import pytest

from mercer.files import read_fasta

TWO = ">a b\nGATT\n\nacA\n>c\nTA-CO*\n"
READS = "@r1\nGAT\nTA\n+\n@@@\nII\n\n@r2\nA\n+r2\n!\n"


def test_plain_and_compressed(tmp_path):
    expected = ["GATTacA", "TA-CO*"], ["a b", "c"]
    (tmp_path / "plain").write_text(TWO)
    (tmp_path / "windows").write_bytes(TWO.replace("\n", "\r\n").encode())
    (tmp_path / "zipped.fa.gz").write_bytes(gzip.compress(TWO.encode()))
    with zipfile.ZipFile(tmp_path / "some.zip", "w") as archive:
        archive.writestr("one.fa", TWO)
    for file in ("plain", "windows", "zipped.fa.gz", "some.zip"):
        assert read_fasta(tmp_path / file) == expected
    with zipfile.ZipFile(tmp_path / "some.zip", "a") as archive:
        archive.writestr("two.fq.gz", gzip.compress(READS.encode()))
    assert read_fasta(tmp_path / "some.zip", member="one.fa") == expected
    assert read_fasta(str(tmp_path / "some.zip"), "two.fq.gz") == (["GATTA", "A"], ["r1", "r2"])
    with pytest.raises(ValueError, match=r"some.zip: the archive holds one.fa, two.fq.gz; name one"):
        read_fasta(tmp_path / "some.zip")
    with pytest.raises(ValueError, match=r"there is no 'three' in the archive"):
        read_fasta(tmp_path / "some.zip", member="three")


def test_only_ends_of_lines_end_lines(tmp_path):
    (tmp_path / "odd.fa").write_text("\ufeff>a\x85b\u2028 c\nGATT\n", encoding="utf-8")
    assert read_fasta(tmp_path / "odd.fa") == (["GATT"], ["a\x85b\u2028 c"])


def test_reads(tmp_path):
    (tmp_path / "reads.fq").write_text(READS)
    assert read_fasta(tmp_path / "reads.fq") == (["GATTA", "A"], ["r1", "r2"])


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("", "the file is empty"),
        ("GATTACA\n", r"line 1: expected '>' \(FASTA\) or '@' \(FASTQ\) at the beginning but found 'GATTACA'"),
        (">a\nGAT\n>b\n>c\nA\n", "line 3: 'b' has no sequence"),
        (">a\nGAT\n>b\n", "line 3: 'b' has no sequence"),
        (">a\nGAT\nTA7A\n", "line 3: expected letters of a sequence but found '7' at place 3"),
        (b">a\nGAT\n\xff\xfe\n", "line 3: expected text"),
        ("@a\nGAT\n+\nII\n", "line 1: 'a' has 3 letters and 2 qualities"),
        ("@a\nACGT\n+\nIII\n@b\nAC\n+\nII\n", "line 1: 'a' has 4 letters and 3 qualities"),
        ("@a\nACGT\n+\nII\n@b\nAC\n+\nII\n", "line 1: 'a' has 4 letters and 2 qualities"),
        ("@a\nAC\nGT\n+\nII\nI\n@b\nAC\n+\nII\n", "line 1: 'a' has 4 letters and 3 qualities"),
        ("@a\nACGT\n+\nIIIII\n", "line 1: 'a' has 4 letters and 5 qualities"),
        ("@a\nGAT\n", "line 1: 'a' ends before its '\\+' line"),
        ("@a\nGAT\n+\nIII\nrest\n", "line 5: expected '@' and a header but found 'rest'"),
        pytest.param(b"PK\x03\x04", "the archive is damaged", id="cut archive"),
        pytest.param(gzip.compress(TWO.encode())[:-9], "the gzipped file is damaged", id="cut gzip"),
    ],
)
def test_malformed_files_are_named(tmp_path, content, what):
    path = tmp_path / "broken.fa"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=rf"broken.fa.*{what}"):
        read_fasta(path)
