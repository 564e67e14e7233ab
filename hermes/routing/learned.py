"""Scores texts by learned weights: sums of keywords, and a probability of being right. It decides nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import chain

from hermes.messages import Match
from hermes.routing.calibration import calibrated, probability, row, share_of_strangers
from hermes.routing.features import features
from hermes.routing.inflection import singular
from hermes.routing.typos import Spelling
from hermes.routing.weights import Weights
from hermes.values import value

_TOLD = 3  # intents


@value
class Learnt:
    """An intent that a text may be meant for: the probability of it, and the keywords of it in the text, heaviest first."""

    intent: str
    confidence: float
    matched: tuple[Match, ...]


class Learned:
    """The weights of some intents, ready for use. It never changes, and is safe to ask from any thread."""

    __slots__ = ("_against", "_biases", "_factors", "_known", "_matches", "_names", "_senses", "weights")

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
        self._biases = [one.bias for one in learned]
        self._against = [one.against for one in learned]
        self._matches = [
            {
                keyword: Match(keyword, weight)
                for keyword, weight in chain(one.keywords.items(), one.against.items())
            }
            for one in learned
        ]
        self._senses = _index(weights, self._matches)
        spelling = Spelling((one for one in self._senses if " " not in one), also=weights.words)
        self._known = lru_cache(maxsize=4096)(lambda word: spelling.word(singular(word)))

    @property
    def intents(self) -> Collection[str]:
        """The names of the intents that can be chosen."""
        return frozenset(self._names)

    def recalibrated(self, intents: Collection[str]) -> Learned:
        """Return the weights of `intents`, with probabilities for a router that knows only them.

        It takes some tenths of a second, of the processor.
        """
        share = share_of_strangers(self.weights.strangers)
        factors = calibrated(self.weights.trials, intents, strangers=share)
        return Learned(self.weights, intents, factors=factors)

    def score(self, text: str) -> list[Learnt]:
        """Return the likeliest intents of any text at all, three at most; none if no keyword of any is in it."""
        found, units = features(text, self._known)
        senses = self._senses
        hits = [(feature, bits) for feature, bits in found.items() if feature in senses]
        sums: dict[int, float] = {}
        known = 0
        for feature, bits in hits:
            pairs = senses[feature]
            if pairs:
                known |= bits
                for number, weight in pairs:
                    sums[number] = sums.get(number, 0.0) + weight
        ranked = self._ranked(sums, [feature for feature, _ in hits])
        told = []
        left = 1.0  # of the probability, beside the first
        for place, (total, number) in enumerate(ranked[:_TOLD]):
            matched, covered = self._matched(number, hits)
            rival = ranked[1 if place == 0 else 0][0] if len(ranked) > 1 else -1.0
            values = row(total, total - rival, covered=covered, known=known.bit_count(), units=units)
            confidence = round(min(probability(self._factors, values), left), 4)
            if place == 0:
                left -= confidence
            told.append(Learnt(self._names[number], confidence, matched))
        return sorted(told, key=_by_confidence) if len(told) > 1 else told

    def _ranked(self, sums: Mapping[int, float], hits: Sequence[str]) -> list[tuple[float, int]]:
        """Return the intents with the highest totals, of which the first two are surely the highest.

        `sums` are of what speaks for an intent. What speaks against one can only lower its own total: it is looked for
        only where that still could be among the highest.
        """
        biases, against = self._biases, self._against
        highest = sorted([(total + biases[number], number) for number, total in sums.items()], reverse=True)
        ranked: list[tuple[float, int]] = []
        first = second = float("-inf")
        for most, number in highest:
            if most <= second:
                break
            lowered, total = against[number], most
            if lowered:
                for one in hits:
                    if one in lowered:
                        total += lowered[one]
            ranked.append((total, number))
            if total > first:
                first, second = total, first
            elif total > second:
                second = total
        ranked.sort(reverse=True)
        return ranked

    def _matched(self, number: int, hits: Sequence[tuple[str, int]]) -> tuple[tuple[Match, ...], int]:
        """Return what was found of an intent, and how many units of the text speak for it."""
        matches, found, covered = self._matches[number], [], 0
        for feature, bits in hits:
            if feature in matches:
                match = matches[feature]
                found.append(match)
                if match.weight > 0:
                    covered |= bits
        found.sort(key=_by_weight)
        return tuple(found), covered.bit_count()


def _index(
    weights: Weights, matches: Sequence[Mapping[str, Match]]
) -> dict[str, tuple[tuple[int, float], ...]]:
    """Return what each feature speaks for: the numbers of intents with the weight.

    What is known of an intent that is not among them is there too, without weights: it still is no unknown word.
    """
    senses: dict[str, list[tuple[int, float]]] = {
        keyword: [] for one in weights.intents.values() for keyword in chain(one.keywords, one.against)
    }
    for number, found in enumerate(matches):
        for keyword, match in found.items():
            if match.weight > 0:
                senses[keyword].append((number, match.weight))
    return {keyword: tuple(pairs) for keyword, pairs in senses.items()}


def _by_weight(match: Match) -> tuple[float, str]:
    return (-match.weight, match.keyword)


def _by_confidence(one: Learnt) -> tuple[float, str]:
    return (-one.confidence, one.intent)
