"""What learned weights are about: the words and pairs of words of a text, and its pieces of Chinese. It weighs nothing.

Training and serving read texts by this one function: with two, decisions would differ from what was measured.
"""

from __future__ import annotations

from collections.abc import Callable

from hermes.routing.folding import is_cjk, readings
from hermes.routing.inflection import singular

_LONGEST = 3  # characters of a piece of Chinese
MOST = 1_000  # units of a text that are looked at


def features(text: str, known: Callable[[str], str] = singular) -> tuple[dict[str, int], int]:
    """Return the features of `text` with the units that each takes, as the bits of a number, and how many units there are.

    A unit is a word, of CJK a character. The features are the words, in the singular, and pairs of them (`build log`),
    and the one, two and three characters that stand together in CJK. `known` returns the word that a word is taken for.
    """
    found: dict[str, int] = {}
    units = 0
    for number, words in enumerate(readings(text)):
        at, before = 0, ""
        for word in words:
            if at >= MOST:
                break
            if word.isascii() or not is_cjk(word):
                taken = known(word)
                bit = 1 << at
                found[taken] = found.get(taken, 0) | bit
                if before:
                    pair = f"{before} {taken}"
                    found[pair] = found.get(pair, 0) | bit | bit >> 1
                before = taken
                at += 1
            else:
                _pieces(word[: MOST - at], found, at=at)
                before = ""
                at += len(word)
        if not number:  # camelCase reads in two ways: the first is how it was written
            units = min(at, MOST)
    return found, units


def _pieces(run: str, found: dict[str, int], *, at: int) -> None:
    """Add the pieces of a run of CJK that begins at unit `at`."""
    for length in range(1, _LONGEST + 1):
        bits = ((1 << length) - 1) << at
        for start in range(len(run) - length + 1):
            piece = run[start : start + length]
            found[piece] = found.get(piece, 0) | bits << start
