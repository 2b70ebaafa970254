"""Alphabets: which letters of a sequence are the same letter, which are none, and which pair on the other strand."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from mercer.samples import Sequences

Alphabet = str | tuple[Hashable, ...] | None

#: Letters that stand together are the same, and the first names them. All others (N, R, X, B, gaps, ...) match nothing.
NAMED: dict[str, tuple[str, ...]] = {
    "dna": ("Aa", "Cc", "Gg", "TtUu"),
    "rna": ("Aa", "Cc", "Gg", "UuTt"),
    "protein": tuple(letter + letter.lower() for letter in "ACDEFGHIKLMNPQRSTVWY"),
}

#: The alphabets of which letter c pairs with letter 3 - c on the other strand.
PAIRED = ("dna", "rna")


def checked_alphabet(alphabet: Any) -> Alphabet:
    """An alphabet as a value: a name, in lower case; a text of letters; a tuple of letters, groups or tokens; or None.

    >>> checked_alphabet("DNA"), checked_alphabet("ACGT"), checked_alphabet(["D", "N", "A"])
    ('dna', 'ACGT', ('D', 'N', 'A'))
    """
    if alphabet is None:
        return None
    if isinstance(alphabet, str) and alphabet.lower() in NAMED:
        return alphabet.lower()
    known: str | tuple[Hashable, ...] = alphabet if isinstance(alphabet, str) else tuple(alphabet)
    if not known:
        raise ValueError("an alphabet needs at least one letter")
    if len(set(known)) != len(known):
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


def letter_names(alphabet: Alphabet, x: Sequences) -> list[str]:
    """The letters in the order of their numbers, as they are written: a group as ``[AG]``, of a named one the first.

    >>> from mercer.samples import as_sequences
    >>> letter_names("rna", as_sequences(["GAT"])), letter_names(("AG", "C"), as_sequences(["GAT"]))
    (['A', 'C', 'G', 'U'], ['[AG]', 'C'])
    """
    if alphabet is None:
        return [str(letter) for letter in x.letters]
    if isinstance(alphabet, str):
        return [letter[0] for letter in NAMED.get(alphabet, alphabet)]
    return [str(one) if x.tokens or len(str(one)) < 2 else f"[{one}]" for one in alphabet]


def between(letters: Sequence[str]) -> str:
    """What stands between the letters of a word: a space, but nothing if all letters are characters or groups.

    >>> between(["A", "[CT]"]).join(["A", "[CT]"]), between(["a", "be", "to"]).join(["to", "a"])
    ('A[CT]', 'to a')
    """
    return "" if all(len(one) == 1 or one[:1] + one[-1:] == "[]" for one in letters) else " "
