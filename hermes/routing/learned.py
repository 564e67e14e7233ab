"""Scores texts by learned weights: sums of keywords, and a probability of being right. It decides nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import chain, islice

from hermes.messages import Match
from hermes.routing.calibration import DEFAULT, calibrated, probability, row, share_of_strangers
from hermes.routing.features import features
from hermes.routing.inflection import singular
from hermes.routing.totals import Heard, Totals, by_feature
from hermes.routing.typos import Spelling
from hermes.routing.weights import IntentWeights, Weights
from hermes.values import value

_TOLD = 3  # intents
_ENOUGH_EXAMPLES = 15  # for a probability to be taken as it is; of fewer it is lowered, by their root
_UNMEASURED = 0.6  # of a probability that no trial was there for
_FAINT = 0.1  # a probability that is not worth telling of, beside a likelier one


@value
class Learnt:
    """An intent that a text may be meant for: the probability of it, and the keywords of it in the text, heaviest first."""

    intent: str
    confidence: float
    matched: tuple[Match, ...]


class Learned:
    """The weights of some intents, ready for use. It never changes, and is safe to ask from any thread."""

    __slots__ = ("_factors", "_known", "_matches", "_names", "_totals", "_trust", "weights")

    def __init__(
        self,
        weights: Weights,
        intents: Collection[str] | None = None,
        *,
        factors: tuple[float, ...] | None = None,
    ) -> None:
        """Take the intents of `weights`, or of them only those of `intents`; `factors` are the file's by default."""
        self.weights = weights
        self._factors = weights.calibration if factors is None else factors
        self._names = sorted(weights.intents if intents is None else weights.intents.keys() & intents)
        learned = [weights.intents[name] for name in self._names]
        self._matches = [_in_order(one) for one in learned]
        senses = _index(weights, learned)
        # Without trials to calibrate with, and of few examples, no probability is known: function words would pass for it.
        measured = 1.0 if self._factors != DEFAULT else _UNMEASURED
        self._trust = [measured * min(1.0, one.examples / _ENOUGH_EXAMPLES) ** 0.5 for one in learned]
        self._totals = Totals(senses, [one.bias for one in learned])
        spelling = Spelling((one for one in senses if " " not in one), also=weights.words)
        self._known = lru_cache(maxsize=4096)(lambda word: spelling.word(singular(word)))

    @property
    def intents(self) -> Collection[str]:
        """The names of the intents that can be chosen."""
        return frozenset(self._names)

    @classmethod
    def fitted(cls, weights: Weights, intents: Collection[str]) -> Learned:
        """Return the weights of `intents`, with probabilities for a router that knows only them.

        It takes some tenths of a second, of the processor.
        """
        if weights.intents.keys() <= set(intents) or not weights.trials:
            return cls(weights, intents)
        share = share_of_strangers(weights.strangers)
        return cls(weights, intents, factors=calibrated(weights.trials, intents, strangers=share))

    def score(self, text: str) -> list[Learnt]:
        """Return the likeliest intents of any text at all, three at most; none if no keyword of any is in it.

        Beside the first, those whose probability is surely below 0.1 are not told.
        """
        found, units = features(text, self._known)
        heard = self._totals.hear(found)
        ranked = heard.ranked
        first, second = next(ranked, None), next(ranked, None)
        if first is None:
            return []
        rival = second[0] if second else -1.0
        told = [self._learnt(first, lead=first[0] - rival, heard=heard, units=units)]
        left = 1.0 - told[0].confidence  # for all others
        for one in chain([second] if second else [], islice(ranked, _TOLD - 2)):
            lead = one[0] - first[0]
            values = row(one[0], lead, covered=heard.known, known=heard.known, units=units)
            if probability(self._factors, values) < _FAINT:
                break
            told.append(self._learnt(one, lead=lead, heard=heard, units=units, most=left))
        return sorted(told, key=_by_confidence) if len(told) > 1 else told

    def _learnt(
        self, one: tuple[float, int], *, lead: float, heard: Heard, units: int, most: float = 1.0
    ) -> Learnt:
        """Return what is told of an intent by its total and its number, with a probability of at most `most`."""
        total, number = one
        matched, covered = self._matched(number, heard.hits)
        values = row(total, lead, covered=covered, known=heard.known, units=units)
        sure = probability(self._factors, values) * self._trust[number]
        return Learnt(self._names[number], round(min(sure, most), 4), matched)

    def _matched(self, number: int, hits: Sequence[tuple[str, int]]) -> tuple[tuple[Match, ...], int]:
        """Return what was found of an intent, and how many units of the text speak for it."""
        matches = self._matches[number]
        found = sorted([(*matches[feature], bits) for feature, bits in hits if feature in matches])
        covered = 0
        for _, match, bits in found:
            if match.weight > 0:
                covered |= bits
        return tuple([match for _, match, _ in found]), covered.bit_count()


def _in_order(one: IntentWeights) -> dict[str, tuple[int, Match]]:
    """Return the matches of an intent's keywords with their places, heaviest first."""
    weights = chain(one.keywords.items(), one.against.items())
    ordered = sorted((Match(keyword, weight) for keyword, weight in weights), key=_by_weight)
    return {match.keyword: (place, match) for place, match in enumerate(ordered)}


def _index(weights: Weights, learned: Sequence[IntentWeights]) -> dict[str, list[tuple[int, float]]]:
    """Return what each feature weighs for the intents that can be chosen, by their numbers.

    What is known of other intents is there too, without weights: it still is no unknown word.
    """
    senses = by_feature([{**one.keywords, **one.against} for one in learned])
    for one in weights.intents.values():
        for keyword in chain(one.keywords, one.against):
            senses.setdefault(keyword, [])
    return senses


def _by_weight(match: Match) -> tuple[float, str]:
    return (-match.weight, match.keyword)


def _by_confidence(one: Learnt) -> tuple[float, str]:
    return (-one.confidence, one.intent)
