"""All keywords of all intents, ready to be found in a text in one pass. What a match is worth is decided elsewhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, product
from operator import attrgetter, itemgetter
from unicodedata import normalize

from ahocorasick import Automaton

from hermes.errors import ConfigError
from hermes.messages import Match
from hermes.routing.folding import is_cjk, readings
from hermes.routing.inflection import forms, singular


@dataclass(frozen=True, slots=True)
class IntentEntry:
    """What the router knows of an intent; `keywords` are as the manifest writes them, with weights −1…1, not 0."""

    intent: str
    plugin: str
    keywords: Mapping[str, float]
    priority: int = 0
    writes: bool = False


class Lexicon:
    """An index over the keywords of some intents. It never changes; for other intents another one is built.

    Words of scripts with spaces match whole, as written or in a form that `inflection` makes of them; CJK matches
    anywhere in a run of CJK. The words of a keyword match in sequence, whatever separates them in the text; between
    two of CJK nothing need separate them. Keywords that overlap in the text all match. The order of the entries
    makes no difference, and what one intent matches does not depend on the others.
    """

    __slots__ = ("_automaton", "_by_name", "_senses", "_words", "entries", "priorities")

    def __init__(self, entries: Iterable[IntentEntry] = ()) -> None:
        """Index `entries`; ConfigError names the intent and the keyword that cannot be, or the intent given twice."""
        self.entries: tuple[IntentEntry, ...] = tuple(sorted(entries, key=attrgetter("intent", "plugin")))
        self.priorities: Mapping[tuple[str, str], int] = {
            (e.intent, e.plugin): e.priority for e in self.entries
        }
        if len(self.priorities) < len(self.entries):
            raise ConfigError(f"an intent is declared twice by one plugin: {_twin(self.entries)}")
        self._by_name = _by_name(self.entries)
        # A sense is one keyword of one intent: the position of its entry, and the keyword with its weight.
        self._senses: list[tuple[int, Match]] = []
        patterns: dict[str, list[int]] = defaultdict(list)
        for position, entry in enumerate(self.entries):
            for match, spellings in _keywords(entry):
                for spelling in spellings:
                    patterns[spelling].append(len(self._senses))
                self._senses.append((position, match))
        # Single words need no automaton: it stays small, and building one takes far longer than a dictionary.
        self._words = {p[1:-1]: tuple(senses) for p, senses in patterns.items() if _is_single_word(p)}
        self._automaton = _automaton(
            {p: tuple(senses) for p, senses in patterns.items() if not _is_single_word(p)}
        )

    def match(self, text: str) -> dict[int, list[Match]]:
        """Return the distinct keywords found in `text`, by the position in `entries` of the intent they speak for.

        Takes time linear in the text and in what matched, whatever the number of intents. Any string is taken.
        """
        found: list[Iterable[int]] = []
        for words in readings(text):
            found += filter(None, map(self._words.get, words))
            if self._automaton is not None:
                found += map(itemgetter(1), self._automaton.iter(_bytewise(f" {' '.join(words)} ")))
        matches: dict[int, list[Match]] = {}
        for sense in dict.fromkeys(chain.from_iterable(found)):
            position, match = self._senses[sense]
            if position in matches:
                matches[position].append(match)
            else:
                matches[position] = [match]
        return matches

    def named(self, name: str) -> tuple[IntentEntry, ...]:
        """Return the entries of the intent `name`, else those of the plugin `name`; case and width do not matter."""
        return self._by_name.get(_name_key(name), ())


def _by_name(entries: Sequence[IntentEntry]) -> dict[str, tuple[IntentEntry, ...]]:
    intents, plugins = defaultdict(list), defaultdict(list)
    for entry in entries:
        intents[_name_key(entry.intent)].append(entry)
        plugins[_name_key(entry.plugin)].append(entry)
    return {name: tuple(found) for name, found in (plugins | intents).items()}


def _name_key(name: str) -> str:
    return normalize("NFKC", name).casefold()


def _twin(entries: Sequence[IntentEntry]) -> str:
    pairs = pairwise((entry.intent, entry.plugin) for entry in entries)
    intent, plugin = next(one for one, other in pairs if one == other)
    return f"{intent!r} of {plugin!r}"


def _keywords(entry: IntentEntry) -> Iterable[tuple[Match, set[str]]]:
    """Return each distinct keyword of `entry` with the patterns that find it.

    Keywords that differ only in case, width, punctuation or number are one, and the heaviest of them counts.
    """
    merged: dict[str, tuple[Match, set[str]]] = {}
    for keyword, weight in sorted(entry.keywords.items(), key=lambda item: (-abs(item[1]), item[0])):
        ways = readings(keyword)
        where = f"keyword {keyword!r} of intent {entry.intent!r} (plugin {entry.plugin!r})"
        if not ways[0]:
            raise ConfigError(f"{where} holds no letter or digit and would never match; leave it out")
        if weight == 0 or not -1 <= weight <= 1:
            raise ConfigError(f"{where} weighs {weight}; give it −1 … 1 and not 0, below 0 to speak against")
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
        yield left + "".join(chain.from_iterable(zip(chosen, [*gaps, right], strict=True)))


def _is_single_word(pattern: str) -> bool:
    return pattern.startswith(" ") and pattern.endswith(" ") and pattern.count(" ") == 2


def _automaton(patterns: Mapping[str, tuple[int, ...]]) -> Automaton | None:
    if not patterns:
        return None
    automaton = Automaton()
    for pattern, senses in patterns.items():
        automaton.add_word(_bytewise(pattern), senses)
    automaton.make_automaton()
    return automaton


def _bytewise(text: str) -> str:
    """Return the UTF-8 bytes of `text`, a character each.

    The automaton tries the children of a node one by one: by bytes that is dozens, by Chinese characters thousands.
    """
    return text.encode().decode("latin-1")
