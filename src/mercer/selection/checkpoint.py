"""Finished cells of a search in a file, so that a search that was killed goes on where it was.

The file is lines of JSON that are only ever added to, each with a sum of its bytes. A line that was being written when
the process died is the last one, and is dropped; anything else that is damaged is an error. Chains of cells are solved
again from their heads unless all of it is there, so that the scores are those of a search that nobody stopped, to the
last bit.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import joblib
import numpy as np

from mercer.errors import MercerError
from mercer.selection.cells import Cell
from mercer.selection.results import Outcome
from mercer.solvers import Certificate, Witness

FORMAT = "mercer search 1"


class CheckpointError(MercerError, ValueError):
    """A file of finished cells that is damaged, or of another search.

    >>> import tempfile
    >>> from mercer import SVC
    >>> from mercer.selection import GridSearchCV
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(b"no search")
    ...     file.flush()
    ...     search = GridSearchCV(SVC(), {"C": [1, 2]}, cv=2, checkpoint=file.name)
    ...     search.fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    Traceback (most recent call last):
    ...
    mercer.selection.checkpoint.CheckpointError: ...
    """


class Checkpoint:
    """The finished cells of one search, by the hash of their parameters and the number of the split."""

    def __init__(self, path: Path, search: str) -> None:
        self.path, self.search = path, search
        self.known: dict[tuple[str, int], Outcome] = {}
        self.file: Any = None

    @classmethod
    def open(cls, path: str | os.PathLike[str], trials: Any) -> Self:
        """The file of this search; one that there is already is read, and gone on with."""
        own = (trials.machine, trials.X, trials.y, trials.splits, trials.fit_params, trials.score_params)
        self = cls(Path(path), joblib.hash((*own, named(trials.scorer), trials.return_train_score)))
        if self.path.is_dir():
            raise CheckpointError(f"checkpoint={str(path)!r} is a folder; give the name of a file")
        end = self._read() if self.path.exists() and self.path.stat().st_size else 0
        self.file = self.path.open("r+b" if self.path.exists() else "w+b")
        self.file.truncate(end)
        self.file.seek(end)
        if not end:
            self._write({"format": FORMAT, "search": self.search})
        return self

    def _read(self) -> int:
        """Reads all whole lines; where the last of them ends."""
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        for number, line in enumerate(data[:whole].splitlines(), 1):
            try:
                total, text = line.split(b" ", 1)
                if int(total, 16) != zlib.crc32(text):
                    raise ValueError("its sum is another")
                entry = json.loads(text)
                if number == 1:
                    if entry.get("format") != FORMAT:
                        raise ValueError("it does not say what it is")
                else:
                    self.known[entry["cell"], int(entry["split"])] = outcome_of(entry)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise CheckpointError(
                    f"line {number} of {self.path} is damaged ({error}); delete the file to begin anew"
                ) from None
            if number == 1 and entry["search"] != self.search:
                raise CheckpointError(
                    f"{self.path} is of another search: other samples, splits, parameters or scores; give another file"
                )
        if data and not whole and not b"0123456789abcdef".__contains__(data[0]):
            raise CheckpointError(f"{self.path} is no file of a search; give another name")
        return whole

    def found(self, cells: Sequence[Cell], split: int) -> list[Outcome] | None:
        """What came of all these cells on a split; None unless all are there."""
        try:
            return [self.known[cell.params_key, split] for cell in cells]
        except KeyError:
            return None

    def add(self, cells: Sequence[Cell], split: int, outcomes: Sequence[Outcome]) -> None:
        """Writes them down, at once, where they stay if the process dies."""
        for cell, outcome in zip(cells, outcomes, strict=True):
            if (cell.params_key, split) not in self.known:
                self._write({"cell": cell.params_key, "split": split, **written(outcome)})

    def _write(self, entry: dict[str, Any]) -> None:
        text = json.dumps(entry, separators=(",", ":")).encode()
        self.file.write(b"%08x %s\n" % (zlib.crc32(text), text))
        self.file.flush()

    def close(self) -> None:
        if self.file is not None:
            os.fsync(self.file.fileno())
            self.file.close()
            self.file = None


def named(scorer: Any) -> str:
    """The name of a function, which another process has, too; of what is none, how it is shown."""
    if hasattr(scorer, "__qualname__"):
        return f"{scorer.__module__}.{scorer.__qualname__}"
    return str(scorer)


def written(outcome: Outcome) -> dict[str, Any]:
    """An outcome in JSON, which writes numbers so that they are read back to the last bit."""
    found = outcome.certificate
    several = isinstance(found, Sequence)
    certificates = None if found is None else [asdict(one) for one in (found if several else (found,))]
    entry = asdict(outcome) | {"certificate": certificates, "several": several}
    plain: dict[str, Any] = json.loads(json.dumps(entry, default=number))
    return plain


def number(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not written")


def outcome_of(entry: dict[str, Any]) -> Outcome:
    found = None
    if entry["certificate"] is not None:
        each = tuple(certificate_of(one) for one in entry["certificate"])
        found = each if entry["several"] else each[0]
    names = ("test", "train", "fit_seconds", "score_seconds", "error")
    return Outcome(**{name: entry[name] for name in names}, certificate=found)


def certificate_of(entry: dict[str, Any]) -> Certificate:
    witness = entry.get("witness")
    if witness is not None:
        fields: Any = {name: tuple(v) if isinstance(v, list) else v for name, v in witness.items()}
        entry = entry | {"witness": Witness(**fields)}
    return Certificate(**entry)
