"""Reads a word with one slip of the keyboard as the word that it is meant to be. It knows no language, only given words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_SHORTEST = 4  # letters of a word that a slip is looked for in
_LONGEST = 24


class Spelling:
    """The words that are known, and those that are one letter missing, added, changed or swapped away from one of them.

    A word that is near to two words is left as it is, and so is one that is known itself.
    """

    __slots__ = ("_known", "_near")

    def __init__(self, words: Iterable[str], *, also: Iterable[str] = ()) -> None:
        """Take `words` as what may be meant, and `also` as words that are no slips of one."""
        meant = {word for word in words if _is_plain(word)}
        self._known = frozenset(meant).union(also)
        self._near: dict[str, str] = {}
        for word in sorted(meant):
            for less in {word, *_shorter(word)}:
                self._near[less] = word if self._near.setdefault(less, word) == word else ""

    def word(self, word: str) -> str:
        """Return the word that `word` is a slip of, else itself."""
        if word in self._known or not _is_plain(word):
            return word
        near = self._near
        meant = {near[less] for less in (word, *_shorter(word)) if less in near}
        if len(meant) != 1:
            return word
        (one,) = meant
        return one if one and _is_slip(word, one) else word


def _is_plain(word: str) -> bool:
    return _SHORTEST <= len(word) <= _LONGEST and word.isascii() and word.isalpha()


def _shorter(word: str) -> Iterator[str]:
    """Yield the word without one of its letters, each in turn."""
    return (word[:at] + word[at + 1 :] for at in range(len(word)))


def _is_slip(one: str, other: str) -> bool:
    """Say whether two words, which are alike without a letter of one or of each, are one slip apart."""
    if len(one) != len(other):
        return True
    apart = [at for at in range(len(one)) if one[at] != other[at]]
    if len(apart) == 1:
        return True
    first, last = apart[0], apart[-1]
    return last == first + 1 and one[first] == other[last] and one[last] == other[first]
