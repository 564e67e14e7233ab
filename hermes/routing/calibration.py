"""Makes a probability of how far a text's likeliest intent leads: a small logistic model over trials. It reads no text."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from hermes.routing.weights import Trial

Row = tuple[float, ...]

DEFAULT: Final = (-1.9, 1.6, 1.5, 1.2, 0.4, 0.0)
"""The factors where there is too little to calibrate with: about those of CLINC150, a little more careful."""

_STRANGERS, _FEW_STRANGERS = 0.12, 0.005

_CONTENT, _FAR = 1.0, 1.5  # a score, and a lead
_ENOUGH = 40  # trials, and a tenth of it of either kind
_STEADY = 800  # by the number of trials: how much a factor is drawn towards what it is by default
_STEPS = 25


def row(score: float, lead: float, *, covered: int, known: int, units: int) -> Row:
    """Return what a probability is made of: score, lead over the next, and the shares of the text that are understood.

    What was learned is content with a score of 1 for an intent and −1 for the others: more of it says no more.
    """
    score, lead = min(score, _CONTENT), min(lead, _FAR)
    if not units:
        return (1.0, score, lead, 0.0, 0.0, 0.0)
    return (1.0, score, lead, covered / units, known / units, 1.0 / units)


def probability(factors: Sequence[float], values: Row) -> float:
    """Return the probability that the likeliest intent is meant."""
    total = sum(map(float.__mul__, factors, values))
    return 1.0 / (1.0 + math.exp(-total)) if total > -700 else 0.0


def share_of_strangers(labelled: int) -> float:
    """Return the share of texts for no intent that is reckoned with: more where some were labelled so, as they do come."""
    return _STRANGERS if labelled else _FEW_STRANGERS


def calibrated(
    trials: Iterable[Trial], intents: Collection[str] | None = None, *, strangers: float = _FEW_STRANGERS
) -> tuple[float, ...]:
    """Return the factors for a router of `intents`, None for all: what is for any other is a stranger there.

    Strangers are weighed to be that share of all texts, however many trials are of them.
    """
    rows: list[tuple[Row, bool, bool]] = []
    for trial in trials:
        scores = [one for one in trial.scores if intents is None or one[0] in intents]
        if not scores:
            continue
        (best, score, covered), *others = scores
        lead = score - others[0][1] if others else score + 1.0
        stranger = trial.label is None or (intents is not None and trial.label not in intents)
        values = row(score, lead, covered=covered, known=trial.known, units=trial.units)
        rows.append((values, trial.label == best, stranger))
    right = sum(is_right for _, is_right, _ in rows)
    if len(rows) < _ENOUGH or min(right, len(rows) - right) < _ENOUGH // 10:
        return DEFAULT
    return _fitted(rows, strangers)


def _fitted(rows: Sequence[tuple[Row, bool, bool]], share: float) -> tuple[float, ...]:
    """Return the factors of a logistic regression by Newton's method, drawn to those by default the more, the fewer rows."""
    strangers = sum(stranger for _, _, stranger in rows)
    heavy = share / (1 - share) * (len(rows) - strangers) / strangers if strangers else 1.0
    size = len(rows[0][0])
    factors = list(DEFAULT)
    steady = _STEADY / len(rows)
    for _ in range(_STEPS):
        slope = [steady * (usual - one) for usual, one in zip(DEFAULT, factors, strict=True)]
        curve = [[steady if i == j else 0.0 for j in range(size)] for i in range(size)]
        for values, is_right, stranger in rows:
            weight = heavy if stranger else 1.0
            sure = probability(factors, values)
            miss, bend = weight * (is_right - sure), weight * sure * (1 - sure)
            for i, one in enumerate(values):
                slope[i] += miss * one
                line, part = curve[i], bend * one
                for j in range(size):
                    line[j] += part * values[j]
        step = _solved(curve, slope)
        factors = [one + by for one, by in zip(factors, step, strict=True)]
        if max(map(abs, step)) < 1e-4:
            break
    return tuple(round(one, 4) for one in factors)


def _solved(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Return the solution of a small system of equations whose matrix is symmetric and positive."""
    size = len(right)
    lines = [[*line, end] for line, end in zip(matrix, right, strict=True)]
    for i in range(size):
        pivot = lines[i][i]
        for k in range(i + 1, size):
            part = lines[k][i] / pivot
            for j in range(i, size + 1):
                lines[k][j] -= part * lines[i][j]
    found = [0.0] * size
    for i in reversed(range(size)):
        found[i] = (lines[i][size] - sum(lines[i][j] * found[j] for j in range(i + 1, size))) / lines[i][i]
    return found
