"""Sequences from FASTA and FASTQ files, the formats in which biologists keep DNA and proteins."""

from __future__ import annotations

import re

from mercer.files.source import Source, read_lines
from mercer.files.text import FormatError, refuse, shown

#: What a sequence may hold: letters, a stop (*) and gaps.
SEQUENCE = re.compile(r"[A-Za-z*.\-]*")


def read_fasta(source: Source, member: str | None = None) -> tuple[list[str], list[str]]:
    """The sequences and the headers of a FASTA or FASTQ file, which may be gzipped, given by its path or opened.

    Which of them it is, the file's first letter tells, not its name. Of a .zip archive, ``member`` is the file in it,
    and need not be given if there is one only. Sequences are as they stand in the file, in upper or lower case.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "two.fa"
    >>> _ = path.write_text(">first\\nGATT\\nACA\\n>second one\\nTACO\\n")
    >>> read_fasta(path)
    (['GATTACA', 'TACO'], ['first', 'second one'])
    """
    name, lines = read_lines(source, member)
    first = next((i for i, line in enumerate(lines) if line.strip()), None)
    if first is None:
        raise FormatError(f"{name}: expected FASTA or FASTQ but the file is empty")
    match lines[first][0]:
        case ">":
            return _fasta(name, lines)
        case "@":
            return _fastq(name, lines)
    refuse(name, first, f"expected '>' (FASTA) or '@' (FASTQ) at the beginning but found {lines[first][:20]!r}")


def _checked(name: str, line: int, text: str) -> str:
    text = text.strip()
    good = SEQUENCE.match(text)
    assert good is not None
    if good.end() < len(text):
        refuse(name, line, f"expected letters of a sequence but found {text[good.end()]!r} at place {good.end() + 1}")
    return text


def _fasta(name: str, lines: list[str]) -> tuple[list[str], list[str]]:
    headers: list[str] = []
    parts: list[list[str]] = []
    begun = 0
    for i, line in enumerate(lines):
        if line.startswith(">"):
            if parts and not parts[-1]:
                refuse(name, begun, f"{shown(headers[-1])} has no sequence")
            headers.append(line[1:].strip())
            parts.append([])
            begun = i
        elif line.strip():
            parts[-1].append(_checked(name, i, line))
    if not parts[-1]:
        refuse(name, begun, f"{shown(headers[-1])} has no sequence")
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
            refuse(name, i, f"expected '@' and a header but found {lines[i][:20]!r}")
        begun, header = i, lines[i][1:].strip()
        i += 1
        sequence = ""
        while i < len(lines) and not lines[i].startswith("+"):
            sequence += _checked(name, i, lines[i])
            i += 1
        if i == len(lines):
            refuse(name, begun, f"{shown(header)} ends before its '+' line and qualities")
        in_one_line = i == begun + 2
        i += 1
        quality = 0
        while i < len(lines) and quality < len(sequence):
            more = len(lines[i].strip())
            if quality + more > len(sequence) and quality and lines[i].startswith("@"):
                break  # the next header: qualities may begin with '@' too, but these would be too many
            quality += more
            i += 1
            if in_one_line:
                break
        if quality != len(sequence) or not sequence:
            refuse(name, begun, f"{shown(header)} has {len(sequence)} letters and {quality} qualities")
        headers.append(header)
        sequences.append(sequence)
    return sequences, headers
