"""Lines of text, what may be unpacked to get at them, and the error that names a file and a line."""

from __future__ import annotations

from typing import Any, NoReturn

from mercer.errors import MercerError

#: A packed file may hold at most RATIO times its own bytes and SLACK more: ten times what data have in practice.
RATIO, SLACK = 200, 2**24
#: Bytes that are unpacked at a time.
PART = 2**20
#: So many characters of a text stand in a message.
SHOWN = 80


class FormatError(MercerError, ValueError):
    """A file that is not what it should be; the message names the file, the line and what is wrong.

    >>> refuse("a.fasta", 2, "expected letters of a sequence")
    Traceback (most recent call last):
    ...
    mercer.files.text.FormatError: a.fasta, line 3: expected letters of a sequence
    """


def refuse(name: str, line: int, what: str) -> NoReturn:
    """Raises the error; lines count from 0 here and from 1 in the message."""
    raise FormatError(f"{name}, line {line + 1}: {what}")


def cut(text: object) -> str:
    """A text for a message, as far as it is not too long for one."""
    whole = str(text)
    return whole if len(whole) <= SHOWN else f"{whole[:SHOWN]}..."


def shown(line: str) -> str:
    """The same of a line, in quotes."""
    return repr(line) if len(line) <= SHOWN else f"{line[:SHOWN]!r}..."


def bounded(stream: Any, packed: int, name: str) -> bytes:
    """What a stream unpacks from ``packed`` bytes, unless it is far more than data hold."""
    most = RATIO * packed + SLACK
    parts, size = [], 0
    while part := stream.read(PART):
        parts.append(part)
        size += len(part)
        if size > most:
            raise FormatError(
                f"{name}: more than {most // 2**20} MiB are unpacked from {packed} bytes, which is hardly data; if it "
                "is, unpack it first, and give the result"
            )
    return b"".join(parts)


def lines_of(name: str, content: bytes | str) -> list[str]:
    """The lines of a file's content, without their ends."""
    try:
        text = content.decode("utf-8-sig") if isinstance(content, bytes) else content.removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        assert isinstance(content, bytes)
        line, byte = content[: error.start].count(b"\n"), content[error.start]
        refuse(name, line, f"expected text (UTF-8) but found other bytes, the first {byte:#04x}")
    # Only what ends a line in an editor does: a header may hold other separators of Unicode.
    return text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")
