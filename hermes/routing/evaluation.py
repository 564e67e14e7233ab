"""Figures of a router over labelled texts: how often it is right, how often it answers, how honest it is. It routes nothing itself."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from time import perf_counter_ns
from typing import Final

from hermes.errors import ConfigError
from hermes.routing.decision import Thresholds, reaches
from hermes.routing.examples import OOS, Example
from hermes.values import value

Route = Callable[[str], Sequence[tuple[str, float]]]
"""Returns the candidates for a text, best first, each an intent with its confidence."""

BINS: Final = 15
FEW: Final = 200
"""Rows of a kind below which a threshold that was found with them is chance."""

_STEPS: Final = (*(step / 20 for step in range(20)), 0.98, 0.99)
_GRID: Final = range(1, 100)  # hundredths
_TENTH = 10
_SURE = 0.97  # right among what is answered, for a suggested clarify_threshold
_HALF = 0.5  # right among what is just tried, for a suggested min_confidence
_ROUNDS, _MANY = 3, 20_000  # how often each row is timed, if there are no more rows than that
_CONFUSIONS = 10


@value
class Result:
    """What came of one row: `lead` is that over the next other intent; `intent` is empty if nothing was found."""

    text: str
    label: str
    intent: str
    confidence: float
    lead: float

    @property
    def right(self) -> bool:
        """Say whether the best candidate is the one that is meant; for a stranger none is."""
        return self.label != OOS and self.intent == self.label

    def answered(self, threshold: float, margin: float) -> bool:
        """Say whether it would be run without a doubt at this threshold: rule 2 of the decision."""
        return self.intent != "" and reaches(self.confidence, threshold) and reaches(self.lead, margin)


@value
class Point:
    """What a threshold comes to; a figure is None where there is no row that it is about."""

    threshold: float
    answered_rate: float | None  # of rows in scope
    accuracy_answered: float | None  # of all that is answered
    oos_rejected: float | None


@value
class Confusion:
    """Rows of one intent that were taken for another one, `answered` of them without a doubt; `text` is one of them."""

    label: str
    taken_for: str
    rows: int
    answered: int
    text: str


@value
class Suggestion:
    """Thresholds that these rows speak for, None where none does; `caution` says why not to trust them."""

    min_confidence: float | None
    clarify_threshold: float | None
    caution: str


@value
class Report:
    """The figures. `at` is what they come to at `clarify_threshold`; times are microseconds, None without rows."""

    in_scope: int
    oos: int
    accuracy: float | None
    unmatched: int  # rows in scope in which nothing was found
    at: Point
    auroc: float | None
    ece: float
    p50_us: float
    p99_us: float
    curve: tuple[Point, ...]
    confusions: tuple[Confusion, ...]
    suggestion: Suggestion


def evaluate(
    route: Route,
    examples: Sequence[Example],
    *,
    thresholds: Thresholds,
    intents: Collection[str] | None = None,
    clock: Callable[[], int] = perf_counter_ns,
) -> Report:
    """Return the figures of `route` over `examples`; ConfigError if there are none.

    Rows for an intent that is not among `intents` are strangers to this router, like those labelled `oos`. The
    confidence of a row is that of its best candidate, 0 without one. Each row is timed three times, in three rounds,
    and the shortest counts: what else the machine does is no part of a decision.
    """
    if not examples:
        raise ConfigError("there are no rows to measure with")
    results, times = _results(route, examples, intents=intents, clock=clock)
    inside = [one for one in results if one.label != OOS]
    margin = thresholds.clarify_margin
    return Report(
        in_scope=len(inside),
        oos=len(results) - len(inside),
        accuracy=_share(one.right for one in inside),
        unmatched=sum(not one.intent for one in inside),
        at=_point(results, thresholds.clarify_threshold, margin=margin),
        auroc=_auroc(results),
        ece=_ece(results),
        p50_us=times[len(times) // 2] / 1000,
        p99_us=times[len(times) * 99 // 100] / 1000,
        curve=tuple(_point(results, step, margin=margin) for step in _STEPS),
        confusions=_confusions(results, thresholds),
        suggestion=_suggestion(results, margin=margin),
    )


def _results(
    route: Route,
    examples: Sequence[Example],
    *,
    intents: Collection[str] | None,
    clock: Callable[[], int],
) -> tuple[list[Result], list[int]]:
    """Return what came of every row, and how long each took, sorted."""
    for one in examples[:100]:
        route(one.text)
    shortest: list[int] = []
    found: list[Sequence[tuple[str, float]]] = []
    for number in range(_ROUNDS if len(examples) <= _MANY else 1):
        for place, one in enumerate(examples):
            began = clock()
            candidates = route(one.text)
            taken = clock() - began
            if number:
                shortest[place] = min(shortest[place], taken)
            else:
                shortest.append(taken)
                found.append(candidates)
    results = [
        _result(one, candidates, intents=intents) for one, candidates in zip(examples, found, strict=True)
    ]
    return results, sorted(shortest)


def _result(
    example: Example, candidates: Sequence[tuple[str, float]], *, intents: Collection[str] | None
) -> Result:
    known = intents is None or example.label in intents
    label = example.label if known else OOS
    if not candidates:
        return Result(example.text, label, "", 0.0, 0.0)
    intent, confidence = candidates[0]
    second = next((score for other, score in candidates if other != intent), 0.0)
    return Result(example.text, label, intent, confidence, confidence - second)


def _point(results: Sequence[Result], threshold: float, *, margin: float) -> Point:
    answered = [one.answered(threshold, margin) for one in results]
    pairs = list(zip(results, answered, strict=True))
    return Point(
        threshold,
        answered_rate=_share(is_answered for one, is_answered in pairs if one.label != OOS),
        accuracy_answered=_share(one.right for one, is_answered in pairs if is_answered),
        oos_rejected=_share(not is_answered for one, is_answered in pairs if one.label == OOS),
    )


def _auroc(results: Sequence[Result]) -> float | None:
    """Return how often a row in scope has more confidence than a stranger, of all pairs; equal ones count half."""
    inside = [one.confidence for one in results if one.label != OOS]
    strange = sorted(one.confidence for one in results if one.label == OOS)
    if not inside or not strange:
        return None
    won = sum(bisect_left(strange, one) + bisect_right(strange, one) for one in inside) / 2
    return won / (len(inside) * len(strange))


def _ece(results: Sequence[Result]) -> float:
    """Return the expected calibration error over all rows, strangers mixed in as they are in the file.

    Rows are put into 15 bins of equal width by their confidence; it is the mean, by rows, of how far the mean confidence
    in a bin is from the share of its rows that are right. A stranger is never right.
    """
    bins: dict[int, list[Result]] = defaultdict(list)
    for one in results:
        bins[min(int(one.confidence * BINS), BINS - 1)].append(one)
    off = (abs(sum(one.confidence - one.right for one in rows)) for rows in bins.values())
    return sum(off) / len(results)


def _confusions(results: Sequence[Result], thresholds: Thresholds) -> tuple[Confusion, ...]:
    """Return what was taken for something else most: first by how much of it was answered, then by rows.

    Of strangers only those that were answered are confused with anything.
    """
    rows: Counter[tuple[str, str]] = Counter()
    answered: Counter[tuple[str, str]] = Counter()
    texts: dict[tuple[str, str], tuple[float, str]] = {}
    for one in results:
        is_answered = one.answered(thresholds.clarify_threshold, thresholds.clarify_margin)
        if one.right or not one.intent or (one.label == OOS and not is_answered):
            continue
        pair = one.label, one.intent
        rows[pair] += 1
        answered[pair] += is_answered
        texts[pair] = max(texts.get(pair, (-1.0, "")), (one.confidence, one.text))
    worst = sorted(rows, key=lambda pair: (-answered[pair], -rows[pair], pair))[:_CONFUSIONS]
    return tuple(Confusion(*pair, rows[pair], answered[pair], texts[pair][1]) for pair in worst)


def _suggestion(results: Sequence[Result], *, margin: float) -> Suggestion:
    """Suggest the lowest thresholds at which 97 % of what is answered, and half of what is tried, is right."""
    clear = _tally(one for one in results if one.answered(0, margin))
    tried = _tally(results)
    sure = next((step for step in _GRID if _is_right(clear[step:], _SURE)), None)
    enough = next((step for step in _GRID if _is_right(tried[step : step + _TENTH], _HALF)), None)
    inside = sum(one.label != OOS for one in results)
    kinds = ((inside, "in scope"), (len(results) - inside, "out of scope"))
    few = [f"{count} rows {kind}" for count, kind in kinds if count < FEW]
    return Suggestion(
        min_confidence=None if enough is None else min(enough, enough if sure is None else sure) / 100,
        clarify_threshold=None if sure is None else sure / 100,
        caution=f"only {' and '.join(few)}: so few make thresholds of chance" if few else "",
    )


def _tally(results: Iterable[Result]) -> list[tuple[int, int]]:
    """Return how many rows have each hundredth of confidence, and how many of them are right."""
    rows, right = [0] * 101, [0] * 101
    for one in results:
        hundredth = int(round(one.confidence * 100, 6))
        rows[hundredth] += 1
        right[hundredth] += one.right
    return list(zip(rows, right, strict=True))


def _is_right(tally: Sequence[tuple[int, int]], share: float) -> bool:
    """Say whether there are any rows, and at least that share of them is right."""
    rows = sum(count for count, _ in tally)
    return rows > 0 and sum(right for _, right in tally) >= share * rows


def _share(flags: Iterable[bool]) -> float | None:
    found = list(flags)
    return sum(found) / len(found) if found else None
