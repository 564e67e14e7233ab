"""All keywords of all intents, ready to be found in a text in one pass. What a match is worth is decided elsewhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from operator import attrgetter
from typing import Protocol
from unicodedata import normalize

from hermes.errors import ConfigError
from hermes.messages import Match
from hermes.routing.folding import readings
from hermes.routing.index import Index, Tables
from hermes.routing.patterns import Patterns, Senses


@dataclass(frozen=True, slots=True)
class IntentEntry:
    """What the router knows of an intent; `keywords` are as the manifest writes them, with weights −1…1, not 0."""

    intent: str
    plugin: str
    keywords: Mapping[str, float]
    priority: int = 0
    writes: bool = False
    examples: tuple[str, ...] = ()


class Learnt(Protocol):
    """What learned weights say for one intent."""

    @property
    def intent(self) -> str:
        """Its name."""
        ...

    @property
    def confidence(self) -> float:
        """The probability that it is meant."""
        ...

    @property
    def matched(self) -> tuple[Match, ...]:
        """The keywords in the text that speak for it or against it."""
        ...


class Learned(Protocol):
    """A scorer by learned weights."""

    def score(self, text: str) -> Sequence[Learnt]:
        """Return the likeliest intents of any text at all, those that it knows anything about; it never raises."""
        ...


class Lexicon:
    """An index over the keywords of some intents. It never changes; for other intents another one is built.

    Words of scripts with spaces match whole, as written or in a form that `inflection` makes of them; CJK matches
    anywhere in a run of CJK, but not where two ordinary words meet inside it (`lookalikes`). The words of a keyword
    match in sequence, whatever separates them in the text; between two of CJK nothing need separate them. Keywords
    that overlap in the text all match. The order of the entries makes no difference, and what one intent matches does
    not depend on the others.
    """

    __slots__ = ("_by_name", "_places", "_positions", "entries", "index", "learned", "patterns", "priorities")

    def __init__(
        self,
        entries: Iterable[IntentEntry] = (),
        learned: Learned | None = None,
        *,
        like: Lexicon | None = None,
    ) -> None:
        """Index `entries`; ConfigError names the intent and the keyword that cannot be, or the intent given twice.

        `learned` is kept for whoever scores. Of the lexicon `like` what is known of the same keywords is taken over:
        then a few entries that changed cost little, however many there are.
        """
        self.entries: tuple[IntentEntry, ...] = tuple(sorted(entries, key=attrgetter("intent", "plugin")))
        self.learned = learned
        self.priorities: Mapping[tuple[str, str], int] = {
            (e.intent, e.plugin): e.priority for e in self.entries
        }
        if len(self.priorities) < len(self.entries):
            raise ConfigError(f"an intent is declared twice by one plugin: {_twin(self.entries)}")
        self._by_name = _by_name(self.entries)
        places: dict[str, list[int]] = defaultdict(list)
        for position, entry in enumerate(self.entries):
            places[entry.intent].append(position)
        self._places = {intent: tuple(found) for intent, found in places.items()}
        known = {} if like is None else like.patterns
        self.patterns: Mapping[tuple[str, str], Patterns] = {
            (e.intent, e.plugin): _patterns(e, known.get((e.intent, e.plugin))) for e in self.entries
        }
        parts = self.patterns.values()
        self._positions = {part: position for position, part in enumerate(parts)}
        tables = Tables() if like is None else like.index.tables
        self.index: Index = Index(tables.with_parts(frozenset(parts)))

    def match(self, text: str) -> dict[int, list[Match]]:
        """Return the distinct keywords found in `text`, by the position in `entries` of the intent they speak for.

        Takes time linear in the text and in what matched, whatever the number of intents. Any string is taken.
        """
        found: list[Senses] = []
        for words in readings(text):
            found += self.index.find(words)
        matches: dict[int, list[Match]] = {}
        for sense in dict.fromkeys(chain.from_iterable(found)):
            position = self._positions[sense.owner]
            if position in matches:
                matches[position].append(sense.match)
            else:
                matches[position] = [sense.match]
        return matches

    def positions(self, intent: str) -> tuple[int, ...]:
        """Return the positions in `entries` of the intent that is called exactly so."""
        return self._places.get(intent, ())

    def named(self, name: str) -> tuple[IntentEntry, ...]:
        """Return the entries of the intent `name`, else those of the plugin `name`; case and width do not matter."""
        return self._by_name.get(_name_key(name), ())


def _patterns(entry: IntentEntry, before: Patterns | None) -> Patterns:
    if before is not None and before.keywords == entry.keywords:
        return before
    return Patterns(entry.keywords, where=f"intent {entry.intent!r} (plugin {entry.plugin!r})")


def _by_name(entries: Sequence[IntentEntry]) -> dict[str, tuple[IntentEntry, ...]]:
    intents, plugins = defaultdict(list), defaultdict(list)
    for entry in entries:
        intents[_name_key(entry.intent)].append(entry)
        plugins[_name_key(entry.plugin)].append(entry)
    return {name: tuple(found) for name, found in (plugins | intents).items()}


def _name_key(name: str) -> str:
    return name.casefold() if name.isascii() else normalize("NFKC", name).casefold()


def _twin(entries: Sequence[IntentEntry]) -> str:
    pairs = pairwise((entry.intent, entry.plugin) for entry in entries)
    intent, plugin = next(one for one, other in pairs if one == other)
    return f"{intent!r} of {plugin!r}"
