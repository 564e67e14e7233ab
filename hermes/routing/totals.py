"""Sums what the features of a text weigh, for all intents at once. What features there are and mean is told elsewhere."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Final

Pairs = Sequence[tuple[int, float]]
"""What a feature weighs: numbers of intents, each with a weight."""

_EXACT: Final = 1000  # a weight counts in thousandths
_LANE: Final = 32  # bits
_NOTHING: Final = 1 << 30  # a total of 0: what is below is negative
_SPOKEN_FOR: Final = 1 << 31  # beside the total of an intent that a feature speaks for
_COMMON: Final = 16  # a feature of one intent in so many, or more, is common


class Totals:
    """The weights of features and the biases of intents, which are numbered from 0. It never changes.

    The totals of all intents stand side by side in one large number, a lane of 32 bits each. What a common feature weighs is
    such a number too, and adding it takes as long as adding two weights; of other features each weight is added by itself.
    Totals are exact, so their order makes no difference; a text's features may weigh up to a million in all.
    """

    __slots__ = ("_base", "_common", "_rare", "_size")

    def __init__(self, weights: Mapping[str, Pairs], biases: Sequence[float]) -> None:
        self._size = len(biases) * _LANE // 8
        self._base = _packed((number, _exact(bias) + _NOTHING) for number, bias in enumerate(biases))
        self._common: dict[str, tuple[int, int]] = {}
        self._rare: dict[str, tuple[tuple[int, int], ...]] = {}
        for feature, pairs in weights.items():
            exact = tuple((number, _exact(weight)) for number, weight in pairs)
            if len(exact) * _COMMON < len(biases):
                self._rare[feature] = exact
            else:
                spoken_for = _packed((number, _SPOKEN_FOR) for number, weight in exact if weight > 0)
                self._common[feature] = _packed(exact), spoken_for

    def highest(self, features: Iterable[str], most: int) -> list[tuple[float, int]]:
        """Return the highest totals, `most` of them, with the numbers of the intents, of those that anything speaks for."""
        total, spoken_for = self._base, 0
        rare: list[tuple[tuple[int, int], ...]] = []
        for feature in features:
            if feature in self._common:
                weighs, whom = self._common[feature]
                total += weighs
                spoken_for |= whom
            else:
                rare.append(self._rare[feature])
        lanes = array("I", (total | spoken_for).to_bytes(self._size, sys.byteorder)).tolist()
        for number, weight in chain.from_iterable(rare):
            lanes[number] += weight
            if weight > 0:
                lanes[number] |= _SPOKEN_FOR
        found: list[tuple[float, int]] = []
        while len(found) < most and lanes:
            highest = max(lanes)
            if highest < _SPOKEN_FOR:
                break
            number = lanes.index(highest)
            found.append(((highest - _SPOKEN_FOR - _NOTHING) / _EXACT, number))
            lanes[number] = 0
        return found


def _exact(weight: float) -> int:
    return round(weight * _EXACT)


def _packed(values: Iterable[tuple[int, int]]) -> int:
    """Return a number with each value in the lane of its number; a negative one borrows from the next, until all are added."""
    return sum(value << number * _LANE for number, value in values)
