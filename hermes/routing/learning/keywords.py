"""Learns keywords of each intent: fits all features, keeps the most telling, and fits those again, in steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from hermes.routing.learning.fitting import Floats, Mask, Problem
from hermes.routing.learning.texts import Labelled, Model

_AGAINST = 0.5  # keywords that speak against an intent, for each that speaks for it
_SLIGHT = 0.05  # a weight below that decides nothing, with 1 between for and against
_RARE = 1  # texts; in large data a feature of no more is left out
_LARGE = 2_000  # texts


def fitted(texts: Sequence[Labelled], *, keywords: int) -> Model:
    """Return what speaks for and against each label, at most `keywords` features for it.

    Cutting in one step from all features to the few would keep those that only work together with what is cut.
    """
    names = sorted({text.label for text in texts if text.label is not None})
    numbers = {name: number for number, name in enumerate(names)}
    vocabulary = _vocabulary(texts)
    index = {feature: number for number, feature in enumerate(vocabulary)}
    problem = Problem(
        [[index[one] for one in text.features if one in index] for text in texts],
        [-1 if text.label is None else numbers[text.label] for text in texts],
        features=len(vocabulary),
        intents=len(names),
    )
    weights, biases = problem.fit(steps=40)
    for kept in _steps(keywords):
        mask = _most_telling(weights, problem.counts, kept=kept)
        weights, biases = problem.fit(mask, (weights, biases))
    return Model(
        {name: _rounded(vocabulary, weights[:, number]) for name, number in numbers.items()},
        {name: round(float(biases[number]), 3) for name, number in numbers.items()},
    )


def _vocabulary(texts: Sequence[Labelled]) -> list[str]:
    found = Counter(feature for text in texts for feature in text.features)
    rare = _RARE if len(texts) >= _LARGE else 0
    return sorted(feature for feature, count in found.items() if count > rare)


def _steps(keywords: int) -> Iterator[int]:
    """Yield how many keywords are kept after each fit: 8, 4, 2 times as many, then so many."""
    yield from (keywords * times for times in (8, 4, 2, 1))


def _most_telling(weights: Floats, counts: Floats, *, kept: int) -> Mask:
    """Return which weights to keep: of each intent so many above 0 and half as many below.

    A feature tells the more, the more texts of the intent it is in; one against it, the more of the other texts.
    """
    mask: Mask = np.zeros(weights.shape, np.bool_)
    everywhere = counts.sum(1)
    for number in range(weights.shape[1]):
        own = weights[:, number]
        for worth, most in (
            (own * np.sqrt(counts[:, number]), kept),
            (-own * np.sqrt(everywhere), int(kept * _AGAINST)),
        ):
            best = np.argsort(-worth, kind="stable")[:most]
            mask[best[worth[best] > 0], number] = True
    return mask


def _rounded(vocabulary: Sequence[str], weights: Floats) -> dict[str, float]:
    found = {vocabulary[int(one)]: round(float(weights[one]), 3) for one in np.flatnonzero(weights)}
    slight = min(_SLIGHT, max(found.values(), default=0.0) / 4)  # of a few examples no weight is large
    kept = {feature: weight for feature, weight in found.items() if weight and abs(weight) >= slight}
    return dict(sorted(kept.items(), key=lambda item: (-abs(item[1]), item[0])))
