"""Sequences from FASTA and FASTQ files, the formats in which biologists keep DNA and proteins."""

from __future__ import annotations

import gzip
import os
import re
import zipfile
import zlib
from pathlib import Path
from typing import NoReturn

#: What a sequence may hold: letters, a stop (*) and gaps.
SEQUENCE = re.compile(r"[A-Za-z*.\-]*")


class FormatError(ValueError):
    """A file that is not what it should be; the message names the file, the line and what is wrong."""


def read_fasta(path: str | os.PathLike[str], member: str | None = None) -> tuple[list[str], list[str]]:
    """The sequences and the headers of a FASTA or FASTQ file, which may be gzipped.

    Which of them it is, the file's first letter tells, not its name. Of a .zip archive, ``member`` is the file in it,
    and need not be given if there is one only. Sequences are as they stand in the file, in upper or lower case.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "two.fa"
    >>> _ = path.write_text(">first\\nGATT\\nACA\\n>second one\\nTACO\\n")
    >>> read_fasta(path)
    (['GATTACA', 'TACO'], ['first', 'second one'])
    """
    name, lines = _lines(Path(path), member)
    first = next((i for i, line in enumerate(lines) if line.strip()), None)
    if first is None:
        raise FormatError(f"{name}: expected FASTA or FASTQ but the file is empty")
    match lines[first][0]:
        case ">":
            return _fasta(name, lines)
        case "@":
            return _fastq(name, lines)
    _refuse(name, first, f"expected '>' (FASTA) or '@' (FASTQ) at the beginning but found {lines[first][:20]!r}")


def _lines(path: Path, member: str | None) -> tuple[str, list[str]]:
    """The file's name, for messages, and its lines without their ends."""
    content, name = path.read_bytes(), str(path)
    if content[:4] == b"PK\x03\x04":
        with zipfile.ZipFile(path) as archive:
            inside = [info.filename for info in archive.infolist() if not info.is_dir()]
            if member is None and len(inside) != 1:
                raise FormatError(f"{name}: the archive holds {', '.join(inside)}; name one of them as member=")
            chosen = member if member is not None else inside[0]
            if chosen not in inside:
                raise FormatError(f"{name}: there is no {chosen!r} in the archive, which holds {', '.join(inside)}")
            content, name = archive.read(chosen), f"{name}/{chosen}"
    elif member is not None:
        raise FormatError(f"{name}: member={member!r} was asked for, but the file is no .zip archive")
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (EOFError, OSError, zlib.error) as error:
            raise FormatError(f"{name}: the gzipped file is damaged: {error}") from None
    try:
        return name, content.decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        _refuse(name, content[: error.start].count(b"\n"), "expected text (UTF-8) but found other bytes")


def _refuse(name: str, line: int, what: str) -> NoReturn:
    raise FormatError(f"{name}, line {line + 1}: {what}")


def _checked(name: str, line: int, text: str) -> str:
    text = text.strip()
    good = SEQUENCE.match(text)
    assert good is not None
    if good.end() < len(text):
        _refuse(name, line, f"expected letters of a sequence but found {text[good.end()]!r} at place {good.end() + 1}")
    return text


def _fasta(name: str, lines: list[str]) -> tuple[list[str], list[str]]:
    headers: list[str] = []
    parts: list[list[str]] = []
    begun = 0
    for i, line in enumerate(lines):
        if line.startswith(">"):
            if parts and not parts[-1]:
                _refuse(name, begun, f"{headers[-1]!r} has no sequence")
            headers.append(line[1:].strip())
            parts.append([])
            begun = i
        elif line.strip():
            parts[-1].append(_checked(name, i, line))
    if not parts[-1]:
        _refuse(name, begun, f"{headers[-1]!r} has no sequence")
    return ["".join(some) for some in parts], headers


def _fastq(name: str, lines: list[str]) -> tuple[list[str], list[str]]:
    headers: list[str] = []
    sequences: list[str] = []
    i = 0
    while i < len(lines):
        if not lines[i].strip():
            i += 1
            continue
        if not lines[i].startswith("@"):
            _refuse(name, i, f"expected '@' and a header but found {lines[i][:20]!r}")
        begun, header = i, lines[i][1:].strip()
        i += 1
        sequence = ""
        while i < len(lines) and not lines[i].startswith("+"):
            sequence += _checked(name, i, lines[i])
            i += 1
        if i == len(lines):
            _refuse(name, begun, f"{header!r} ends before its '+' line and qualities")
        i += 1
        quality = 0
        while i < len(lines) and quality < len(sequence):  # qualities may begin with any letter, also with '@'
            quality += len(lines[i].strip())
            i += 1
        if quality != len(sequence) or not sequence:
            _refuse(name, begun, f"{header!r} has {len(sequence)} letters and {quality} qualities")
        headers.append(header)
        sequences.append(sequence)
    return sequences, headers
