"""Where files come from: a path or an open file, plain, gzipped, or inside a zip archive."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from pathlib import Path
from typing import IO

from mercer.files.archive import SIGNATURES, Archive
from mercer.files.text import FormatError, bounded, lines_of

#: A file: its path, or the file itself, opened for reading as text or as bytes.
Source = str | os.PathLike[str] | IO[str] | IO[bytes]


def content_of(source: Source) -> tuple[str, bytes | str]:
    """The name of a file, for messages, and what it holds; of an open file, what is still to be read.

    >>> content_of(io.StringIO("GATTACA"))
    ('the open file', 'GATTACA')
    """
    if hasattr(source, "read"):
        given = getattr(source, "name", None)
        name = given if isinstance(given, str) else "the open file"
        try:
            return name, source.read()
        except UnicodeDecodeError as error:
            raise FormatError(f"{name}: expected text but found other bytes ({error}); open it as bytes") from None
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise FormatError(f"{name}: the gzipped file is damaged: {error}") from None
    path = Path(source)
    if path.is_dir():
        raise FormatError(f"{path} is a folder; a file is expected")
    return str(path), path.read_bytes()


def read_lines(source: Source, member: str | None = None) -> tuple[str, list[str]]:
    """The file's name, for messages, and its lines without their ends; ``member`` is a file inside a .zip archive."""
    name, content = content_of(source)
    if isinstance(content, bytes) and content.startswith(SIGNATURES):
        archive = Archive(name, content)
        chosen = archive.only(member)
        name, content = f"{name}/{chosen}", archive.read(chosen)
    elif member is not None:
        raise FormatError(f"{name}: member={member!r} was asked for, but the file is no .zip archive")
    if isinstance(content, bytes) and content[:2] == b"\x1f\x8b":
        content = _unzipped(name, content)
    return name, lines_of(name, content)


def _unzipped(name: str, content: bytes) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
            return bounded(stream, len(content), name)
    except (EOFError, OSError, zlib.error) as error:
        raise FormatError(f"{name}: the gzipped file is damaged: {error}") from None
