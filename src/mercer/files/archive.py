"""Zip archives whose every defect is a ``FormatError`` with the member's name, read into bounded memory."""

from __future__ import annotations

import io
import re
import struct
import zipfile
from typing import Any, NoReturn

from mercer.files.text import FormatError, bounded, cut

#: The first bytes of an archive, and those of one that holds nothing.
SIGNATURES = (b"PK\x03\x04", b"PK\x05\x06")
#: A record of an archive's directory: its signature, then the version that is needed, and the length of the name.
RECORD = re.compile(rb"PK\x01\x02..(..).{20}(..).{16}", re.DOTALL)
#: The flag of a member that needs a password.
ENCRYPTED = 1
#: So many names stand in a message.
NAMED = 8


class Archive:
    """The files in a .zip archive by their paths; folders are left out, and so is what macOS adds for itself.

    >>> content = io.BytesIO()
    >>> with zipfile.ZipFile(content, "w") as made:
    ...     made.writestr("DS/DS_A.txt", "1, 2")
    ...     made.writestr("__MACOSX/DS/._DS_A.txt", "")
    >>> archive = Archive("DS.zip", content.getvalue())
    >>> archive.members, archive.read("DS/DS_A.txt")
    (['DS/DS_A.txt'], b'1, 2')
    """

    def __init__(self, name: str, content: bytes) -> None:
        self.name, self.packed = name, len(content)
        try:
            self.archive = zipfile.ZipFile(io.BytesIO(content))
        except NotImplementedError as error:
            self._refuse(_newest(content), error)
        except Exception as error:  # zipfile passes on whatever it meets in a damaged directory
            raise FormatError(f"{name}: the archive is damaged: {cut(error)}") from None
        self.members = [info.filename for info in self.archive.infolist() if _is_file(info.filename)]

    def read(self, member: str) -> bytes:
        try:
            if self.archive.getinfo(member).flag_bits & ENCRYPTED:
                raise FormatError(
                    f"{self.name}/{cut(member)} is encrypted; unpack it with its password, and give the result"
                )
            with self.archive.open(member) as stream:
                return bounded(stream, self.packed, f"{self.name}/{cut(member)}")
        except FormatError:
            raise
        except NotImplementedError as error:
            self._refuse(member, error)
        except Exception as error:  # of the member's own header, or of any of the decompressors
            what = cut(str(error) or type(error).__name__)
            raise FormatError(f"{self.name}: the archive is damaged: {what}, at {cut(member)}") from None

    def only(self, member: str | None) -> str:
        """The member that was asked for, which need not be named where there is one only."""
        names = ", ".join(map(cut, self.members[:NAMED])) + (" ..." if len(self.members) > NAMED else "")
        if not self.members:
            raise FormatError(f"{self.name}: the archive holds no file")
        if member is None and len(self.members) > 1:
            raise FormatError(f"{self.name}: the archive holds {names}; name one of them as member=")
        if member is not None and member not in self.members:
            raise FormatError(f"{self.name}: there is no {member!r} in the archive, which holds {names}")
        return self.members[0] if member is None else member

    def _refuse(self, member: str, error: Any) -> NoReturn:
        raise FormatError(
            f"{self.name}/{cut(member)} is packed in a way that Python cannot read ({error}); unpack it with "
            "the program that made it, and give the result"
        ) from None


def _is_file(path: str) -> bool:
    """Whether it is a file, no folder, and one of the user's, not one of those that macOS packs beside each."""
    folder, _, name = path.rpartition("/")
    return name != "" and "__MACOSX" not in folder.split("/") and not name.startswith("._")


def _newest(content: bytes) -> str:
    """The member that needs the newest version of the format; the directory that is refused as a whole names it."""
    versions: dict[str, int] = {}
    for record in RECORD.finditer(content):
        (version,), (length,) = struct.unpack("<H", record[1]), struct.unpack("<H", record[2])
        versions[content[record.end() : record.end() + length].decode("utf-8", errors="replace")] = version
    return max(versions, key=versions.__getitem__, default="?")
