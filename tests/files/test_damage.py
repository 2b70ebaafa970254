"""Files that were damaged in any way: every reader either reads them or raises a ``FormatError``, in bounded memory."""

import gzip
import io
import tracemalloc
import zipfile

import numpy as np
import pytest

from mercer.files import FormatError, read_fasta, read_trees, read_tudataset

METHODS = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA
FASTA = "".join(f">read {i}\n{'GATTACA' * (i % 5 + 1)}\nTACO\n" for i in range(20)).encode()
FASTQ = "".join(f"@read {i}\nGATTACA\n+\n{'I' * 7}\n" for i in range(20)).encode()
TREES = "".join(f"(S (NP he{i})\n  (VP (V sees) (NP her)))\n" for i in range(20)).encode()
GRAPHS = {
    "A": "".join(f"{i}, {i + 1}\n{i + 1}, {i}\n" for i in range(1, 40, 2)),
    "graph_indicator": "".join(f"{i // 4 + 1}\n" for i in range(40)),
    "graph_labels": "1\n-1\n" * 5,
    "node_labels": "".join(f"{i % 3}\n" for i in range(40)),
    "node_attributes": "".join(f"{i}.5, 1e-3\n" for i in range(40)),
}


def zipped(files, method=zipfile.ZIP_DEFLATED):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return content.getvalue()


DATASET = {f"DS/DS_{name}.txt": text for name, text in GRAPHS.items()}
TEXTS = {"fasta": (read_fasta, FASTA), "fastq": (read_fasta, FASTQ), "trees": (read_trees, TREES)}
READERS = {
    **TEXTS,
    **{f"{name}, gzipped": (read, gzip.compress(text)) for name, (read, text) in TEXTS.items()},
    **{f"{name}, zip {m}": (read, zipped({"a": text}, m)) for name, (read, text) in TEXTS.items() for m in METHODS},
    "fasta, gzipped in a zip": (read_fasta, zipped({"a.gz": gzip.compress(FASTA)}, zipfile.ZIP_STORED)),
    **{f"graphs, zip {m}": (read_tudataset, zipped(DATASET, m)) for m in METHODS},
}


def _flipped(rng, content):
    parts = bytearray(content)
    for place in rng.integers(0, len(parts), rng.integers(1, 6)):
        parts[place] = rng.choice([0, 0xFF, parts[place] ^ (1 << rng.integers(8)), rng.integers(256)])
    return bytes(parts)


def _cut(rng, content):
    return content[: rng.integers(len(content))]


def _spliced(rng, content):
    """Some bytes left out, or another part of the file in their place."""
    first, last = np.sort(rng.integers(0, len(content), 2))
    begun = rng.integers(len(content))
    return content[:first] + content[begun : begun + rng.integers(40)] + content[last if rng.integers(2) else first :]


def _swapped(rng, content):
    lines = content.split(b"\n")
    i, j = rng.integers(0, len(lines), 2)
    lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


DAMAGES = [_flipped, _cut, _spliced, _swapped]


def outcome(read, content):
    """What a reader says of a file; only an error of the format may come out."""
    try:
        return read(io.BytesIO(content))
    except FormatError as error:
        text = str(error)
    assert 10 < len(text) < 600, text[:1000]
    return None


def damaged_dataset(rng):
    """A data set of which one text is damaged, and the archive is not."""
    name = sorted(DATASET)[rng.integers(len(DATASET))]
    damage = DAMAGES[rng.integers(len(DAMAGES))]
    return zipped(DATASET | {name: damage(rng, DATASET[name].encode())})


@pytest.mark.parametrize("name", READERS)
@pytest.mark.alone("measures memory")
def test_damaged_files_are_refused_in_words(name):
    read, content = READERS[name]
    rng = np.random.default_rng(len(content))
    assert outcome(read, content) is not None
    tracemalloc.start()
    for _ in range(40):
        outcome(read, DAMAGES[rng.integers(len(DAMAGES))](rng, content))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6, peak


def test_damaged_texts_in_a_sound_archive():
    rng = np.random.default_rng(0)
    read = [outcome(read_tudataset, damaged_dataset(rng)) for _ in range(200)]
    assert sum(result is None for result in read) > 50
    assert sum(result is not None for result in read) > 5
