"""Sequences: strings, bytes, or lists of tokens, stored flat as numbers so that the native core can read them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.remembered import remembered
from mercer.samples.base import Samples
from mercer.samples.door import as_samples, in_memory
from mercer.samples.kinds import compared, described, kind_of
from mercer.samples.objects import Objects
from mercer.samples.summary import some_of
from mercer.samples.table import Table

#: So many of the latest results that kernels have found from sequences are remembered with them.
REMEMBERED = 8


class Sequences(Samples):
    """Sequence i is ``letters[id]`` for the ids from ``offsets[i]`` to ``offsets[i + 1]``.

    Memory: 4 bytes per letter and 8 per sequence. A letter is a character (of bytes, the character of that number) or,
    where ``tokens``, any hashable object.

    >>> x = as_sequences(["GATTACA", "TACO"])
    >>> x.letters, x.ids[x.offsets[1] :]
    (('A', 'C', 'G', 'O', 'T'), array([4, 0, 1, 3], dtype=int32))
    """

    kind = "sequences"

    def __init__(
        self,
        ids: NDArray[np.int32],
        offsets: NDArray[np.int64],
        letters: tuple[Hashable, ...],
        tokens: bool,
        dtype: Any = np.float64,
    ) -> None:
        self.ids, self.offsets, self.letters, self.tokens = ids, offsets, letters, tokens
        self._dtype: np.dtype[Any] = np.dtype(dtype)
        self._remembered: dict[Hashable, Any] = {}

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype

    def astype(self, dtype: Any) -> Sequences:
        if self.dtype == dtype:
            return self
        return Sequences(self.ids, self.offsets, self.letters, self.tokens, dtype)

    @property
    def nbytes(self) -> int:
        return self.ids.nbytes + self.offsets.nbytes

    def counts(self) -> dict[str, int]:
        return {"tokens" if self.tokens else "letters": len(self.ids)}

    def facts(self) -> dict[str, str]:
        different = "different tokens" if self.tokens else "different letters"
        return {different: some_of(self.letters), "mean length": f"{len(self.ids) / max(1, len(self)):.1f}"}

    @remembered
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    def take(self, index: NDArray[np.int64]) -> Sequences:
        lengths = self.lengths[index]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        places = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1][index] - offsets[:-1], lengths)
        return Sequences(self.ids[places], offsets, self.letters, self.tokens, self.dtype)

    def joined(self, other: Samples) -> Samples:
        if not isinstance(other, Sequences):
            return super().joined(other)
        letters = tuple(dict.fromkeys((*self.letters, *other.letters)))
        code: dict[Hashable, int] = {letter: i for i, letter in enumerate(letters)}
        ids = np.concatenate([self.ids, other.coded(code)])
        offsets = np.concatenate([self.offsets, self.offsets[-1] + other.offsets[1:]])
        return Sequences(ids, offsets, letters, self.tokens or other.tokens, self.dtype)

    def content(self) -> list[Any]:
        if self.tokens:
            return [[self.letters[i] for i in self.ids[a:b]] for a, b in self._bounds()]
        codes = np.array([ord(str(letter)) for letter in self.letters], dtype="<u4")[self.ids]
        text = codes.tobytes().decode("utf-32-le", errors="surrogatepass")
        return [text[a:b] for a, b in self._bounds()]

    def _bounds(self) -> Iterable[tuple[int, int]]:
        ends = self.offsets.tolist()
        return pairwise(ends)

    def coded(self, code: dict[Hashable, int], otherwise: int = -1) -> NDArray[np.int32]:
        """The number of every letter in another numbering, ``otherwise`` for those it lacks."""
        table = np.array([code.get(letter, otherwise) for letter in self.letters] or [-1], dtype=np.int32)
        return table[self.ids]

    def once(self, key: Hashable, find: Callable[[], Any]) -> Any:
        """What ``find`` finds from these sequences, which is asked for again and again; the latest few are kept."""
        found = self._remembered.get(key)
        if found is None:
            found = find()
            latest = list(self._remembered.items())[1 - REMEMBERED :]
            self._remembered = dict([*latest, (key, found)])  # replaced, not changed: threads may share it
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_remembered": {}}

    def fingerprint(self) -> Hashable:
        return self.tokens, self.dtype.str, self.letters, self.offsets.tobytes(), self.ids.tobytes()


def as_sequences(X: Any) -> Sequences:
    """Sequences from a list, an array, a Series or one column of a table, of strings, bytes or lists of tokens.

    >>> as_sequences(["GATTACA", "TACO"]).lengths
    array([7, 4])
    >>> as_sequences([["to", "be"], ["or", "not", "to", "be"]]).letters
    ('to', 'be', 'or', 'not')
    """
    if isinstance(X, Sequences):
        return X
    items: list[Any] = [item if type(item) is str else _plain(item, i) for i, item in enumerate(_items(X))]
    texts = sum(isinstance(item, str) for item in items)
    bytestrings = sum(isinstance(item, (bytes, bytearray)) for item in items)
    if texts == len(items):
        return _from_text(items)
    if bytestrings == len(items):
        return _from_text([bytes(item).decode("latin-1") for item in items])
    if texts or bytestrings:
        raise TypeError(
            f"expected sequences of one kind but got {texts} strings, {bytestrings} bytes and "
            f"{len(items) - texts - bytestrings} others; decode bytes, or split strings into tokens"
        )
    return _from_tokens(items)


def _plain(item: Any, i: int) -> Any:
    """A sequence as text, bytes or tokens."""
    if isinstance(item, (str, bytes, bytearray, list, tuple, np.ndarray)):
        return item
    text = _text_of(item)
    if text is not None:
        return text
    if _in_order(item):
        return item
    if item is None or type(item).__name__ == "NAType" or (isinstance(item, float) and item != item):
        remedy = "missing values must be filled or dropped first"
    elif hasattr(item, "seq"):
        remedy = "give its sequence, item.seq"
    else:
        remedy = compared(kind_of(item) or "")
    raise TypeError(
        f"expected sequences (strings, bytes or lists of tokens) but sample {i} is {described(item)}, a "
        f"{type(item).__name__}; {remedy}"
    )


def _text_of(item: Any) -> str | None:
    """The text of an object that is a sequence of letters, as those of Biopython are; None if it is no such object."""
    if not (hasattr(item, "__len__") and hasattr(item, "__getitem__")) or hasattr(item, "__array__"):
        return None
    try:
        text, length = str(item), len(item)
        same = len(text) == length and (not text or all(str(item[k]) == text[k] for k in (0, -1)))
    except (KeyError, TypeError):  # of dictionaries, and of sparse arrays, which have no length
        return None
    return text if same else None


def _in_order(item: Any) -> bool:
    """Whether it has tokens in an order: dictionaries, sets and graphs have none."""
    return isinstance(item, (Sequence, np.ndarray)) or (hasattr(item, "__array__") and not isinstance(item, np.generic))


def _items(X: Any) -> Sequence[Any]:
    X = in_memory(X)
    if isinstance(X, (list, tuple)) and X:
        return X
    if isinstance(X, (str, bytes, bytearray)) or hasattr(X, "seq") or _text_of(X) is not None:
        raise TypeError(f"expected a list of sequences but got a single {type(X).__name__}; write [sequence]")
    samples = as_samples(X)
    if isinstance(samples, Objects):
        return samples.items
    if isinstance(samples, Table) and len(samples.columns) == 1:
        return list(samples.columns[0])
    what = f"a table of {len(samples.columns)} columns" if isinstance(samples, Table) else samples.kind
    raise TypeError(
        f"expected sequences (strings, bytes or lists of tokens) but got {what}; pick a column of strings with "
        f".on('column'); {compared(samples.kind)}"
    )


def _from_text(items: Sequence[str]) -> Sequences:
    points = np.frombuffer("".join(items).encode("utf-32-le", errors="surrogatepass"), dtype="<u4")
    present = np.flatnonzero(np.bincount(points)) if len(points) else np.empty(0, dtype=np.int64)
    table = np.zeros(int(present[-1]) + 1 if len(present) else 1, dtype=np.int32)
    table[present] = np.arange(len(present))
    return Sequences(table[points], _offsets(items), tuple(map(chr, present.tolist())), tokens=False)


def _from_tokens(items: Sequence[Any]) -> Sequences:
    known: dict[Hashable, int] = {}
    ids: list[int] = []
    rows = [item.tolist() if isinstance(item, np.ndarray) else item for item in items]
    for i, row in enumerate(rows):
        try:
            ids.extend([known.setdefault(token, len(known)) for token in row])
        except TypeError:
            raise TypeError(
                f"expected sequences (strings, bytes or lists of tokens that can be hashed) but sample {i} is a "
                f"{type(items[i]).__name__}: {str(items[i])[:60]}"
            ) from None
    if known and all(isinstance(token, float) for token in known):
        raise TypeError(
            f"expected sequences (strings, bytes or lists of tokens) but got lists of floats; {compared('vectors')}"
        )
    return Sequences(np.array(ids, dtype=np.int32), _offsets(rows), tuple(known), tokens=True)


def _offsets(items: Sequence[Any]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum([len(item) for item in items])]).astype(np.int64)
