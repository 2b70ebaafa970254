"""Lines of text files, which may be gzipped or inside an archive, and the error that names a file and a line."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from pathlib import Path
from typing import NoReturn


class FormatError(ValueError):
    """A file that is not what it should be; the message names the file, the line and what is wrong.

    >>> refuse("a.fasta", 2, "expected letters of a sequence")
    Traceback (most recent call last):
    ...
    mercer.files.text.FormatError: a.fasta, line 3: expected letters of a sequence
    """


def refuse(name: str, line: int, what: str) -> NoReturn:
    """Raises the error; lines count from 0 here and from 1 in the message."""
    raise FormatError(f"{name}, line {line + 1}: {what}")


def read_lines(path: Path, member: str | None = None) -> tuple[str, list[str]]:
    """The file's name, for messages, and its lines without their ends; ``member`` is a file inside a .zip archive."""
    content, name = path.read_bytes(), str(path)
    if content[:4] == b"PK\x03\x04":
        content, name = _member(path, member)
    elif member is not None:
        raise FormatError(f"{name}: member={member!r} was asked for, but the file is no .zip archive")
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (EOFError, OSError, zlib.error) as error:
            raise FormatError(f"{name}: the gzipped file is damaged: {error}") from None
    return name, lines_of(name, content)


def lines_of(name: str, content: bytes) -> list[str]:
    """The lines of a file's content, without their ends."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, byte = content[: error.start].count(b"\n"), content[error.start]
        refuse(name, line, f"expected text (UTF-8) but found other bytes, the first {byte:#04x}")
    # Only what ends a line in an editor does: a header may hold other separators of Unicode.
    return text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")


def _member(path: Path, member: str | None) -> tuple[bytes, str]:
    """The content of a file in an archive, and its name."""
    try:
        with zipfile.ZipFile(path) as archive:
            inside = [info.filename for info in archive.infolist() if not info.is_dir()]
            if member is None and len(inside) != 1:
                raise FormatError(f"{path}: the archive holds {', '.join(inside)}; name one of them as member=")
            chosen = member if member is not None else inside[0]
            if chosen not in inside:
                raise FormatError(f"{path}: there is no {chosen!r} in the archive, which holds {', '.join(inside)}")
            return archive.read(chosen), f"{path}/{chosen}"
    except (EOFError, OSError, zipfile.BadZipFile, zlib.error) as error:
        raise FormatError(f"{path}: the archive is damaged: {error}") from None
