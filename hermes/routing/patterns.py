"""What is looked for in a folded text, for each keyword of one intent. It sees no text and no other intent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise, product

from hermes.errors import ConfigError
from hermes.messages import Match
from hermes.routing.folding import is_cjk, readings
from hermes.routing.inflection import forms, singular


class Sense:
    """One keyword of one intent, itself and no other that is equal."""

    __slots__ = ("match", "owner")

    def __init__(self, match: Match, owner: Patterns) -> None:
        self.match = match
        self.owner = owner


Senses = tuple[Sense, ...]


class Patterns:
    """What finds the keywords of one intent in a folded text: words that are joined by a space, with one at either end.

    `words` are found as a whole word, or anywhere if they are a single character of CJK (`characters`: there is one). `spans` are found
    as they stand: runs of CJK, and words in sequence. Those of CJK are in `pairs` by their first two characters, where
    they end with these, else with nothing; `openings` are the first three of the others, or the first word, with the
    lengths of all that begin so.
    """

    __slots__ = ("characters", "keywords", "openings", "pairs", "spans", "words")

    def __init__(self, keywords: Mapping[str, float], *, where: str) -> None:
        """Take the keywords with their weights; ConfigError names one that cannot be found, as a keyword of `where`."""
        self.keywords = keywords
        self.words: dict[str, Senses] = {}
        self.pairs: dict[str, Senses] = {}
        self.spans: dict[str, Senses] = {}
        self.openings: dict[str, tuple[int, ...]] = {}
        for match, spellings in _merged(keywords, where):
            senses = (Sense(match, self),)
            for spelling in spellings:
                self._add(spelling, senses)
        self.characters = any(len(word) == 1 and is_cjk(word) for word in self.words)

    def _add(self, pattern: str, senses: Senses) -> None:
        latin = pattern[0] == " "
        if len(pattern) == 1 or (latin and pattern.count(" ") == 2 and pattern[-1] == " "):
            word = pattern.strip()
            self.words[word] = self.words.get(word, ()) + senses
            return
        if not latin:
            pair = pattern[:2]
            self.pairs[pair] = self.pairs.get(pair, ()) + (senses if pair == pattern else ())
            if pair == pattern:
                return
        self.spans[pattern] = self.spans.get(pattern, ()) + senses
        opening = pattern.split(" ", 2)[1] if latin else pattern[:3]
        self.openings[opening] = tuple({*self.openings.get(opening, ()), len(pattern)})


def _merged(keywords: Mapping[str, float], where: str) -> Iterable[tuple[Match, set[str]]]:
    """Return each distinct keyword with the patterns that find it.

    Keywords that differ only in case, width, punctuation or number are one, and the heaviest of them counts.
    """
    merged: dict[str, tuple[Match, set[str]]] = {}
    for keyword, weight in sorted(keywords.items(), key=lambda item: (-abs(item[1]), item[0])):
        ways = readings(keyword)
        if not ways[0]:
            raise ConfigError(
                f"keyword {keyword!r} of {where} holds no letter or digit and would never match; leave it out"
            )
        if weight == 0 or not -1 <= weight <= 1:
            raise ConfigError(
                f"keyword {keyword!r} of {where} weighs {weight}; give it −1 … 1 and not 0, below 0 to speak against"
            )
        _, patterns = merged.setdefault(" ".join(map(singular, ways[0])), (Match(keyword, weight), set()))
        for words in ways:
            patterns.update(_patterns(words))
    return merged.values()


def _patterns(words: Sequence[str]) -> Iterator[str]:
    """Yield what to look for in a folded text that has a space at either end.

    Only the first and the last word are inflected (`restarting the services`): the number of patterns stays small.
    """
    last = len(words) - 1
    choices = [forms(word) if number in {0, last} else (word,) for number, word in enumerate(words)]
    gaps = ["" if is_cjk(one) and is_cjk(other) else " " for one, other in pairwise(words)]
    left, right = ("" if is_cjk(words[end]) else " " for end in (0, last))
    for chosen in product(*choices):
        yield f"{left}{' '.join(chosen)}{right}"
        if "" in gaps:
            yield left + "".join(chain.from_iterable(zip(chosen, [*gaps, right], strict=True)))
