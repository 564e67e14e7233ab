"""Sums what the features of a text weigh, for all intents at once. What features there are and mean is told elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from hermes.values import value

Pairs = Sequence[tuple[int, float]]
"""What a feature weighs: numbers of intents, each with a weight."""

_Sense = tuple[int, int, tuple[tuple[int, int], ...] | None]
"""What a feature weighs and whom it speaks for, packed; of a rare one the last is what it weighs for each."""

_EXACT: Final = 1000  # a weight counts in thousandths
_LANE: Final = 32  # bits
_NOTHING: Final = 1 << 30  # a total of 0: what is below is negative
_SPOKEN_FOR: Final = 1 << 31  # beside the total of an intent that a feature speaks for
_COMMON: Final = 16  # a feature of one intent in so many, or more, is common


def by_feature(weights: Sequence[Mapping[str, float]]) -> dict[str, list[tuple[int, float]]]:
    """Return what each feature weighs, from what features weigh for each intent."""
    found: dict[str, list[tuple[int, float]]] = {}
    for number, one in enumerate(weights):
        for feature, weight in one.items():
            found.setdefault(feature, []).append((number, weight))
    return found


@value
class Heard:
    """What is known of a text: its `hits` (features with the bits of their units), and how many units speak for anything.

    `ranked` yields the totals of the intents that anything speaks for, with their numbers, the highest first.
    """

    hits: list[tuple[str, int]]
    known: int
    ranked: Iterator[tuple[float, int]]


class Totals:
    """The weights of features and the biases of intents, which are numbered from 0. It never changes.

    The totals of all intents stand side by side in one large number, a lane of 32 bits each. What a common feature weighs is
    such a number too, and adding it takes as long as adding two weights; of other features each weight is added by itself.
    Totals are exact, so their order makes no difference; a text's features may weigh up to a million in all.
    """

    __slots__ = ("_base", "_senses", "_size")

    def __init__(self, weights: Mapping[str, Pairs], biases: Sequence[float]) -> None:
        """Take what each feature weighs; one that weighs nothing here is known all the same."""
        self._size = len(biases) * _LANE // 8
        self._base = _packed((number, _exact(bias) + _NOTHING) for number, bias in enumerate(biases))
        self._senses = {feature: _sense(pairs, len(biases)) for feature, pairs in weights.items()}

    def hear(self, features: Mapping[str, int]) -> Heard:
        """Return what is known of a text with these features."""
        senses, hits, known = self._senses, [], 0
        total, spoken_for = self._base, 0
        rare: list[tuple[int, int]] = []
        for item in features.items():
            feature, bits = item
            if feature in senses:
                hits.append(item)
                weighs, whom, pairs = senses[feature]
                if whom:
                    known |= bits
                if pairs is None:
                    total += weighs
                    spoken_for |= whom
                else:
                    rare += pairs
        lanes = memoryview((total | spoken_for).to_bytes(self._size, sys.byteorder)).cast("I").tolist()
        for number, weight in rare:
            lanes[number] += weight
            if weight > 0:
                lanes[number] |= _SPOKEN_FOR
        return Heard(hits, known.bit_count(), _ranked(lanes))


def _ranked(lanes: list[int]) -> Iterator[tuple[float, int]]:
    while lanes:
        highest = max(lanes)
        if highest < _SPOKEN_FOR:
            break
        number = lanes.index(highest)
        lanes[number] = 0
        yield (highest - _SPOKEN_FOR - _NOTHING) / _EXACT, number


def _sense(pairs: Pairs, intents: int) -> _Sense:
    """Return what a feature weighs, packed into two numbers if it is common, else by itself."""
    exact = tuple((number, _exact(weight)) for number, weight in pairs)
    if len(exact) * _COMMON < intents:
        return 0, int(any(weight > 0 for _, weight in exact)), exact
    spoken_for = _packed((number, _SPOKEN_FOR) for number, weight in exact if weight > 0)
    return _packed(exact), spoken_for, None


def _exact(weight: float) -> int:
    return round(weight * _EXACT)


def _packed(values: Iterable[tuple[int, int]]) -> int:
    """Return a number with each value in the lane of its number; a negative one borrows from the next, until all are added."""
    return sum(value << number * _LANE for number, value in values)
