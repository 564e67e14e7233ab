"""Finds in a text the values of a fixed list that it names. Where more than one could be meant, it finds none."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from hermes.host.manifests.misfits import options

Fold = Callable[[str], Sequence[Sequence[str]]]
"""Returns the words of a text, letters and digits only and brought to one form, in each way it can be read."""

_PART = 4_000  # characters: of a longer text only head and tail are read
_CJK = "\u1100-\u11ff\u3005-\u31ff\u3400-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
_is_cjk = re.compile(f"[{_CJK}]").match
_word = rf"[^\W_{_CJK}]+"
# `prod` is not meant where somebody writes `prod-eu`, `prod.example.com` or `/srv/prod/x`.
_compound = re.compile(rf"{_word}(?:(?:://|[-_./\\@]+){_word})+")
_WORDS = 8  # of a value
_NOTHING = "\u16a0"  # a letter that no value is written with
_clause_end = re.compile(r"[,，、;；:：!！?？。\n\r()（）“”\"]+|\.(?=\s|$)")
_negates = re.compile(
    r"(?:^| )(?:not?|never|except|excluding|without|dont|don|doesn|isn|shouldn|cannot|nor|neither|instead|rather) "
    r"|不(?!错|好意思|过|同|管|但)|(?<![特区级类分个识鉴告])别|別|非(?!常)|除(?!夕)|[勿莫]|没(?!问题|事)|沒(?!問題|事)"
).search


# Said anywhere, before or after a value, they make it one that is left out.
_excludes = re.compile(
    r"\b(?:but|except\w*|exclud\w*|skip\w*|avoid\w*|omit\w*|ignor\w*|other than|outside|minus|unless|apart from|save for|leave|spare"
    r"|must|stay\w*|keep\w*)\b|以外|之外|除外|先不|别动|別動|不动|不動|不要动|不行|算了|不包括|不含|跳过|跳過|避开|排除",
    re.IGNORECASE,
).search
# Words of every sentence: as values they are named by `name=value` alone, or as a whole answer.
_EVERYDAY = frozenset(
    re.findall(
        r"\w+",
        "a all am an and any as at be but by can do for go he i if in is it may me my new no not now of off "
        "ok on one or our out so that the this to up us we what will yes you",
    )
)


class Choices:
    """The values that parameters may have according to the `enum` of their schemas; only those that are words.

    Numbers, and values without a letter, are for slots: a text has numbers for other reasons.
    """

    def __init__(self, properties: Mapping[str, Any], fold: Fold) -> None:
        self._fold = fold
        self._meant: dict[str, set[tuple[str, str]]] = defaultdict(set)  # parameter and value by spelling
        for name, schema in properties.items():
            for value in _values(schema):
                for spelling in self._spellings(value) - _EVERYDAY:
                    self._meant[spelling].add((name, value))
        longest_first = sorted(self._meant, key=lambda spelling: (-len(spelling), spelling))
        self._longest_first = [(spelling, *_ends(spelling)) for spelling in longest_first]
        self._pieces = {piece for spelling in self._meant for piece in _pieces(spelling)}

    def find(self, text: str) -> dict[str, str]:
        """Return the values that `text` names, by parameter.

        Letters are compared folded: whole words of scripts with spaces, Chinese, Japanese and Korean anywhere, a single such
        character by itself alone. A longer value goes before one that is a part of it. A parameter gets none if two
        of its values are found, if what is found may be meant for another parameter, if a negation stands before it, or if
        the text makes an exception anywhere (`all but cn`, `cn 除外`). A value that is an everyday word (`no`, `us`) is never found.
        """
        if not self._longest_first or _excludes(text):
            return {}
        found: set[tuple[str, str]] = set()
        doubtful: set[str] = set()
        for clause in _clause_end.split(self._without_compounds(_readable(text))):
            for meant, sure in self._in_clause(clause):
                found |= meant
                if not sure or len(meant) > 1:
                    doubtful |= {name for name, _ in meant}
        counts = Counter(name for name, _ in found)
        return {name: value for name, value in sorted(found) if counts[name] == 1 and name not in doubtful}

    def named(self, name: str, text: str) -> str | None:
        """Return the value of one parameter that `text` is another writing of."""
        values = {
            value
            for spelling in self._spellings(text)
            for one, value in self._meant.get(spelling, ())
            if one == name
        }
        return values.pop() if len(values) == 1 else None

    def _spellings(self, value: str) -> set[str]:
        ways = [words for words in self._fold(value) if words]
        return {" ".join(words) for words in ways} | {_run_together(words) for words in ways}

    def _without_compounds(self, text: str) -> str:
        """Return the text without names of several parts, but for those that are, or begin, a value themselves."""
        return _compound.sub(lambda found: found[0] if self._is_part(found[0]) else _NOTHING, text)

    def _is_part(self, name: str) -> bool:
        return any(" ".join(words) in self._pieces for words in self._fold(name))

    def _in_clause(self, clause: str) -> Iterator[tuple[set[tuple[str, str]], bool]]:
        """Yield what each value that a clause names may mean, and whether nothing before it negates it."""
        for words in self._fold(clause):
            line = f" {' '.join(words)} "
            found = list(self._in_line(line))
            if found:
                negation = _negates(line)
                from_here = len(line) if negation is None else negation.end()
                for spelling, start in found:
                    yield self._meant[spelling], start < from_here
                return

    def _in_line(self, line: str) -> Iterator[tuple[str, int]]:
        free, there = line, {*line, *line.split()}
        for spelling, first, last in self._longest_first:
            if first not in there or last not in there:
                continue
            start = free.find(spelling)
            while start >= 0:
                end = start + len(spelling)
                if _stands(free, start=start, end=end):
                    yield spelling, start
                    free = free[:start] + "\0" * len(spelling) + free[end:]
                start = free.find(spelling, start + 1)


def _values(schema: Any) -> list[str]:
    return [one for one in options(schema) if isinstance(one, str) and any(sign.isalpha() for sign in one)]


def _ends(spelling: str) -> tuple[str, str]:
    """Return the first and the last word of a spelling, of Chinese, Japanese and Korean the character."""
    first, last = spelling.partition(" ")[0], spelling.rpartition(" ")[2]
    return first[0] if _is_cjk(first) else first, last[-1] if _is_cjk(last) else last


def _pieces(spelling: str) -> Iterator[str]:
    words = spelling.split(" ")[:_WORDS]
    for start in range(len(words)):
        for end in range(start + 1, len(words) + 1):
            yield " ".join(words[start:end])


def _readable(text: str) -> str:
    if len(text) > 2 * _PART:
        text = f"{text[:_PART].rpartition(' ')[0]}\n{text[-_PART:].partition(' ')[2]}"
    return unicodedata.normalize("NFKC", text)


def _run_together(words: Sequence[str]) -> str:
    """Return words with nothing between those that are written so anyway."""
    joined = words[0]
    for one, other in pairwise(words):
        joined += other if _is_cjk(one) and _is_cjk(other) else f" {other}"
    return joined


def _stands(line: str, *, start: int, end: int) -> bool:
    """Say whether what is in a line from `start` to `end` is no part of a word."""
    alone = end - start == 1
    left = line[start - 1] == " " or (bool(_is_cjk(line[start])) and not alone)
    right = line[end] == " " or (bool(_is_cjk(line[end - 1])) and not alone)
    return left and right
