"""Where readers take files from: paths, open files, archives of any making, folders."""

import gzip
import io
import re
import struct
import zipfile

import pytest

from mercer.files import FormatError, read_fasta, read_trees, read_tudataset
from mercer.files.text import SLACK

from .test_damage import DATASET, FASTA, METHODS, TREES, zipped

READERS = {"fasta": (read_fasta, FASTA), "trees": (read_trees, TREES)}
readers = pytest.mark.parametrize(("read", "content"), READERS.values(), ids=READERS.keys())


@readers
def test_open_files_are_read_like_paths(tmp_path, read, content):
    path = tmp_path / "data"
    path.write_bytes(content)
    expected = read(path)
    assert read(str(path)) == expected
    with path.open("rb") as binary, path.open(encoding="utf-8") as text:
        assert read(binary) == read(text) == expected
    assert read(io.BytesIO(content)) == read(io.StringIO(content.decode())) == expected
    assert read(io.BytesIO(gzip.compress(content))) == expected
    assert read(io.StringIO("\ufeff" + content.decode())) == expected
    packed = gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(content)))
    assert read(packed) == expected
    two = zipped({"one": content, "two/": "", "two/of.gz": gzip.compress(content)})
    assert read(io.BytesIO(two), "one") == read(io.BytesIO(two), member="two/of.gz") == expected
    started = io.StringIO("a line to skip\n" + content.decode())
    started.readline()
    assert read(started) == expected


@readers
def test_errors_of_open_files_name_them(tmp_path, read, content):
    path = tmp_path / "data"
    path.write_bytes(b"\xff\xfe" + content)
    with path.open("rb") as binary, pytest.raises(FormatError, match="data, line 1: expected text"):
        read(binary)
    with path.open(encoding="utf-8") as text, pytest.raises(FormatError, match="data: expected text but found other"):
        read(text)
    with pytest.raises(FormatError, match="the open file: expected"):
        read(io.BytesIO(b""))
    with pytest.raises(FormatError, match="the gzipped file is damaged"):
        read(gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(content)[:-12])))


@readers
def test_a_folder_is_no_file(tmp_path, read, content):
    with pytest.raises(FormatError, match=re.escape(f"{tmp_path} is a folder; a file is expected")):
        read(tmp_path)
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "absent")


@pytest.mark.parametrize("method", METHODS)
def test_archives_of_every_method_are_read(method):
    graphs, y = read_tudataset(io.BytesIO(zipped(DATASET, method)))
    assert (len(graphs), len(y)) == (10, 10)
    assert read_fasta(io.BytesIO(zipped({"a": FASTA}, method))) == read_fasta(io.BytesIO(FASTA))


def test_what_macos_adds_to_archives_and_folders_is_left_out(tmp_path):
    added = {f"__MACOSX/{name.replace('DS_', '._DS_')}": b"\0\1 of no use" for name in DATASET}
    read = read_tudataset(io.BytesIO(zipped(DATASET | added | {"DS/._DS_A.txt": b"\0"})))
    assert read[0] == read_tudataset(io.BytesIO(zipped(DATASET)))[0]
    assert read_fasta(io.BytesIO(zipped({"a.fa": FASTA, "__MACOSX/._a.fa": b"\0"})))[1][0] == "read 0"
    for name, text in DATASET.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.with_name(f"._{path.name}").write_bytes(b"\0")
    assert read_tudataset(tmp_path)[0] == read[0]
    with pytest.raises(FormatError, match="the archive holds no file"):
        read_fasta(io.BytesIO(zipped({"__MACOSX/._a.fa": b"\0"})))


def test_a_data_set_may_lie_one_folder_down(tmp_path):
    with zipfile.ZipFile(io.BytesIO(zipped(DATASET))) as archive:
        archive.extractall(tmp_path)
    expected = read_tudataset(tmp_path / "DS")[0]
    assert read_tudataset(tmp_path)[0] == expected
    (tmp_path / "notes.txt").write_bytes(b"\xff")
    assert read_tudataset(str(tmp_path))[0] == expected
    other = {name.replace("DS/", "B/"): text for name, text in DATASET.items()}
    with zipfile.ZipFile(io.BytesIO(zipped(other))) as archive:
        archive.extractall(tmp_path)
    message = "must hold one data set, .* but holds B/DS_A.txt, DS/DS_A.txt"
    with pytest.raises(FormatError, match=message):
        read_tudataset(tmp_path)
    with pytest.raises(FormatError, match=message.replace("B/DS_A.txt, DS/DS_A.txt", "DS/DS_A.txt, B/DS_A.txt")):
        read_tudataset(io.BytesIO(zipped(DATASET | other)))
    (tmp_path / "C" / "DS_A.txt").mkdir(parents=True)
    with pytest.raises(FormatError, match="but holds none"):
        read_tudataset(tmp_path / "C")


def _changed(content, **values):
    """An archive whose records say something else: the same for every member."""
    places = {"flags": (6, 8), "method": (8, 10), "version": (4, 6)}
    parts = bytearray(content)
    for name, value in values.items():
        local, central = places[name]
        for signature, place in ((b"PK\x03\x04", local), (b"PK\x01\x02", central)):
            for found in re.finditer(re.escape(signature), content):
                parts[found.start() + place : found.start() + place + 2] = struct.pack("<H", value)
    return bytes(parts)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"flags": 1}, r"{} is encrypted; unpack it with its password"),
        (
            {"method": 9},
            r"{} is packed in a way that Python cannot read \(.*\); unpack it with the program",
        ),
        ({"version": 99}, r"{} is packed in a way that Python cannot read \(zip file version 9.9\)"),
    ],
    ids=str,
)
def test_archives_that_python_cannot_read_are_named_with_the_member(values, message):
    for read, files, member in (
        (read_fasta, {"a.fa": FASTA}, "a.fa"),
        (read_trees, {"trees": TREES}, "trees"),
        (read_tudataset, DATASET, "DS/DS_.*.txt"),
    ):
        with pytest.raises(FormatError, match="the open file/" + message.format(member)):
            read(io.BytesIO(_changed(zipped(files), **values)))


def test_damaged_members_are_named():
    content = zipped({"a.fa": FASTA}, zipfile.ZIP_LZMA)
    damaged = content[:60] + bytes(40) + content[100:]
    with pytest.raises(FormatError, match=r"the open file: the archive is damaged: .*, at a\.fa"):
        read_fasta(io.BytesIO(damaged))


@pytest.mark.parametrize("pack", [gzip.compress, lambda content: zipped({"a": content})], ids=["gzip", "zip"])
def test_a_small_file_does_not_become_a_large_one(pack):
    packed = pack(b">a\n" + b"A" * (2 * SLACK) + b"\n")
    assert len(packed) < SLACK / 200
    with pytest.raises(FormatError, match=r"more than [0-9]+ MiB are unpacked from [0-9]+ bytes, which is hardly data"):
        read_fasta(io.BytesIO(packed))


@pytest.mark.parametrize("part", ["node_attributes", "node_labels", "edge_labels", "graph_attributes"])
def test_lines_are_not_wider_than_data_are(part):
    line = ",".join("1" * 500_000) + "\n"
    files = {f"DS_{name}.txt": text for name, text in [("A", "1,2\n" * 2), ("graph_indicator", "1\n1\n")]}
    files |= {f"DS_{part}.txt": line if part.startswith("graph") else line * 2}
    files |= {} if part.startswith("graph") else {"DS_graph_labels.txt": "1\n"}
    with pytest.raises(FormatError, match=rf"DS_{part}.txt, line 1: 500000 numbers stand in one line, and at most"):
        read_tudataset(io.BytesIO(zipped(files)))
