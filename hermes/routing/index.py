"""Finds the keywords of all intents in the words of a folded text. It folds none, and knows intents by their patterns alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import add

from hermes.routing.lookalikes import OrdinaryWords, is_crossed, ordinary_words
from hermes.routing.patterns import Patterns, Senses

_MOST = 100  # changes in a row, each made from the tables before
_SHARE = 8  # intents that stay for each one that changes: with fewer, beginning anew is as fast


@dataclass(slots=True)
class Tables:
    """The patterns of some intents, joined; `changes` counts those since they were joined from nothing."""

    parts: frozenset[Patterns] = frozenset()
    words: dict[str, Senses] = field(default_factory=dict)
    pairs: dict[str, Senses] = field(default_factory=dict)
    spans: dict[str, Senses] = field(default_factory=dict)
    openings: dict[str, tuple[int, ...]] = field(default_factory=dict)
    changes: int = 0

    def with_parts(self, parts: frozenset[Patterns]) -> Tables:
        """Return the tables of `parts`, made from these if little changes; these stay as they are.

        What only patterns began with that are gone is looked up in vain from then on. That does not pile up: after
        many changes they are made from nothing all the same.
        """
        near = self.changes < _MOST and len(self.parts ^ parts) * _SHARE <= len(parts)
        base = self if near else Tables(changes=-1)
        made = Tables(
            parts,
            base.words.copy(),
            base.pairs.copy(),
            base.spans.copy(),
            base.openings.copy(),
            base.changes + 1,
        )
        for part in base.parts - parts:
            made._take_out(part)
        for part in parts - base.parts:
            made._take_in(part)
        return made

    def _take_in(self, part: Patterns) -> None:
        for joined, patterns in self._beside(part):
            for pattern, senses in patterns.items():
                before = joined.setdefault(pattern, senses)
                if before is not senses:
                    joined[pattern] = before + senses
        for opening, lengths in part.openings.items():
            known = self.openings.setdefault(opening, lengths)
            if known != lengths:
                self.openings[opening] = tuple({*known, *lengths})

    def _take_out(self, part: Patterns) -> None:
        for joined, patterns in self._beside(part):
            for pattern in patterns:
                left = tuple(sense for sense in joined[pattern] if sense.owner is not part)
                if left or joined is self.pairs:
                    joined[pattern] = left
                else:
                    del joined[pattern]

    def _beside(self, part: Patterns) -> Iterable[tuple[dict[str, Senses], Mapping[str, Senses]]]:
        return (self.words, part.words), (self.pairs, part.pairs), (self.spans, part.spans)


class Index:
    """What finds the patterns of `tables` in a text. It never changes."""

    __slots__ = ("_characters", "_openings", "_ordinary", "_pairs", "_spans", "_words", "tables")

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self._words, self._pairs, self._spans = tables.words, tables.pairs, tables.spans
        self._openings = tables.openings
        self._characters = any(part.characters for part in tables.parts)
        self._ordinary = ordinary_words() if tables.pairs else OrdinaryWords({}, {})

    def find(self, words: Sequence[str]) -> list[Senses]:
        """Return the senses that are among folded words, some of them more than once.

        Takes time linear in the words and in what is found, whatever the number of patterns.
        """
        found: list[Senses] = list(filter(None, map(self._words.get, words)))
        text = f" {' '.join(words)} "
        start = 1
        for word in words:
            if lengths := self._openings.get(word):
                self._try(text, start - 1, lengths=lengths, found=found)
            if not word.isascii():
                if self._characters:
                    found += filter(None, map(self._words.get, word))
                self._look_inside(text, start, end=start + len(word), found=found)
            start += len(word) + 1
        return found

    def _look_inside(self, text: str, start: int, *, end: int, found: list[Senses]) -> None:
        pairs = map(self._pairs.get, map(add, text[start:end], text[start + 1 : end + 1]))
        for at, senses in enumerate(pairs, start):
            if senses is not None:
                if senses and not is_crossed(text, at, end=at + 2, words=self._ordinary):
                    found.append(senses)
                if lengths := self._openings.get(text[at : at + 3]):
                    self._try(text, at, lengths=lengths, found=found)

    def _try(self, text: str, start: int, *, lengths: Iterable[int], found: list[Senses]) -> None:
        for length in lengths:
            span = text[start : start + length]
            senses = self._spans.get(span)
            if senses and (
                " " in span or not is_crossed(text, start, end=start + length, words=self._ordinary)
            ):
                found.append(senses)
