"""Tries texts on models that did not learn from them, nor from anything of some intents, which are strangers there."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from hermes.routing.learning.keywords import fitted
from hermes.routing.learning.texts import Labelled, Model
from hermes.routing.totals import Totals, by_feature
from hermes.routing.weights import Trial

_FOLDS = 5
_MANY_FOLDS = 10  # of few texts: each that is missing counts
_FEW_TEXTS = 5_000
_FEWEST = 3  # intents, and texts for each fold
_MOST = 1_500  # trials that are kept of either kind
_SCORES = 6  # of a trial


def held_out(texts: Sequence[Labelled], *, keywords: int) -> list[Trial]:
    """Return how each text comes out of a model that learned neither from it nor from some intents; a fold of each.

    Texts of intents that were left out are strangers there. Nothing is returned if there is too little to tell.
    """
    names = sorted({text.label for text in texts if text.label is not None})
    if len(names) < _FEWEST or len(texts) < _FOLDS * _FEWEST:
        return []
    chance = random.Random(1)  # noqa: S311 - the same rows give the same weights
    chance.shuffle(names)
    folds = _MANY_FOLDS if len(texts) < _FEW_TEXTS else _FOLDS
    fold_of = {name: number % min(folds, len(names)) for number, name in enumerate(names)}
    parts = _parts(texts, chance, folds=folds)
    found: list[Trial] = []
    for fold in range(folds):
        left_out = {name for name, number in fold_of.items() if number == fold}
        learned = [
            one for one, part in zip(texts, parts, strict=True) if part != fold and one.label not in left_out
        ]
        model = fitted(learned, keywords=keywords)
        found += tried(model, [one for one in texts if one.label in left_out], strangers=True)
        rest = [
            one for one, part in zip(texts, parts, strict=True) if part == fold and one.label not in left_out
        ]
        found += tried(model, rest)
    return found


def sampled(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Return as many of the trials as a file of weights keeps, known texts and strangers."""
    chance = random.Random(2)  # noqa: S311 - the same rows give the same weights
    known = [trial for trial in trials if trial.label is not None]
    strange = [trial for trial in trials if trial.label is None]
    return tuple(
        chance.sample(known, min(len(known), _MOST)) + chance.sample(strange, min(len(strange), _MOST))
    )


def tried(model: Model, texts: Iterable[Labelled], *, strangers: bool = False) -> list[Trial]:
    """Return how texts come out of a model, those without a keyword left out; they are summed as they are when it serves."""
    names = list(model.weights)
    weights = list(model.weights.values())
    totals = Totals(by_feature(weights), [model.biases[name] for name in names])
    found = []
    for text in texts:
        heard = totals.hear(text.features)
        scores = tuple(
            (names[number], total, _covered(heard.hits, weights[number]))
            for total, number in islice(heard.ranked, _SCORES)
        )
        if scores:
            found.append(Trial(None if strangers else text.label, text.units, heard.known, scores))
    return found


def _covered(hits: Iterable[tuple[str, int]], weights: Mapping[str, float]) -> int:
    """Return how many units the features that were found take, of those that speak for an intent."""
    covered = 0
    for feature, bits in hits:
        if weights.get(feature, 0.0) > 0:
            covered |= bits
    return covered.bit_count()


def _parts(texts: Sequence[Labelled], chance: random.Random, *, folds: int) -> list[int]:
    """Return the fold of each text, such that each has its share of every intent."""
    by_label: dict[str | None, list[int]] = defaultdict(list)
    for number, text in enumerate(texts):
        by_label[text.label].append(number)
    parts = [0] * len(texts)
    for group in by_label.values():
        chance.shuffle(group)
        first = chance.randrange(folds)
        for place, number in enumerate(group):
            parts[number] = (first + place) % folds
    return parts
