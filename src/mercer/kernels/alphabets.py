"""Alphabets: which letters of a sequence are the same letter, which are none, and which pair on the other strand."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from mercer.samples import Sequences

Alphabet = str | tuple[Hashable, ...] | None

#: Letters that stand together are the same. All others (N, R, X, B, gaps, ...) match nothing. In "dna", letter c pairs
#: with letter 3 - c.
NAMED: dict[str, tuple[str, ...]] = {
    "dna": ("Aa", "Cc", "Gg", "TtUu"),
    "protein": tuple(letter + letter.lower() for letter in "ACDEFGHIKLMNPQRSTVWY"),
}


def checked_alphabet(alphabet: Any) -> Alphabet:
    """An alphabet as a value: a name, a text of letters, a tuple of letters, groups or tokens, or None."""
    if alphabet is None:
        return None
    known: str | tuple[Hashable, ...] = alphabet if isinstance(alphabet, str) else tuple(alphabet)
    if not known:
        raise ValueError("an alphabet needs at least one letter")
    if known not in NAMED and len(set(known)) != len(known):
        raise ValueError(f"the letters of an alphabet must differ, but those of {alphabet!r} do not")
    return known


def numbering(alphabet: Alphabet, x: Sequences) -> tuple[dict[Hashable, int], int]:
    """The number of every letter, and how many numbers there are; without an alphabet, the letters of x."""
    letters: Any = x.letters if alphabet is None else NAMED.get(alphabet, alphabet)  # type: ignore[arg-type]
    grouped = alphabet is not None and (alphabet in NAMED or not x.tokens)
    code: dict[Hashable, int] = {}
    for number, letter in enumerate(letters):
        for one in letter if grouped and isinstance(letter, str) else (letter,):
            if one in code:
                raise ValueError(f"the letter {one!r} stands twice in the alphabet {alphabet!r}")
            code[one] = number
    return code, len(letters)
