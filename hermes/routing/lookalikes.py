"""Tells a Chinese keyword from its look-alike: two words that meet inside it, as 今日 and 志愿者 do in 今日志愿者. It routes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

from hermes.routing.simplified import simplified
from hermes.values import value

_LONGEST = 4  # characters of a keyword inside which words of three can meet, and both reach beyond it


@value
class OrdinaryWords:
    """Words of two and of three characters, folded: by their first one what follows it, a line each if that is two.

    Long strings instead of a set of words: a tenth of the memory, and nearly as fast.
    """

    twos: Mapping[str, str]
    threes: Mapping[str, str]

    def __iter__(self) -> Iterator[str]:
        """Yield all words."""
        yield from (first + rest for first, others in self.twos.items() for rest in others)
        yield from (first + rest for first, others in self.threes.items() for rest in others.split())


@cache
def ordinary_words() -> OrdinaryWords:
    """Return the Chinese words that are common enough to be meant rather than a keyword that they cross."""
    written = simplified(files(__package__).joinpath("words.txt").read_text("utf-8"))
    twos: dict[str, str] = {}
    threes: dict[str, str] = {}
    for first, *others in (line.split() for line in written.splitlines() if not line.startswith("#")):
        twos[first] = twos.get(first, "") + "".join(rest for rest in others if len(rest) == 1)
        threes[first] = "\n".join(
            filter(None, [threes.get(first), *(rest for rest in others if len(rest) == 2)])
        )
    return OrdinaryWords(twos, threes)


def is_crossed(text: str, start: int, *, end: int, words: OrdinaryWords) -> bool:
    """Say whether two of `words` meet inside `text[start:end]`, the first beginning before it and the other ending after it.

    One that only touches a bound does not count: `构建日志` holds `日志`, and so does `查日志文件`. `text` has a space at
    either end.
    """
    if end - start > _LONGEST or text[start - 1] == " " or text[end] == " ":
        return False
    twos, threes = words.twos.get, words.threes.get
    for middle in range(max(start + 1, end - 2), min(start + 2, end - 1) + 1):
        if (
            (middle == start + 1 and text[start] in twos(text[start - 1], ""))
            or text[middle - 2 : middle] in threes(text[middle - 3], "")
        ) and (
            (middle == end - 1 and text[end] in twos(text[middle], ""))
            or text[middle + 1 : middle + 3] in threes(text[middle], "")
        ):
            return True
    return False
