"""From scores to a decision: the only place with thresholds. It never guesses; what is close becomes a question.

How the decision is explained is told in `explanation`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal

from hermes.config import Config
from hermes.errors import ConfigError
from hermes.messages import Candidate, Decision
from hermes.values import value

Language = Literal["zh", "en"]
Rule = Literal["nothing", "below", "clear", "priority", "close", "tried"]

SHOWN = 5

# Scores and thresholds are decimals to a reader: what binary fractions add to a difference is cut off here.
_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Thresholds:
    """When a score is enough, all within 0…1; ConfigError for others.

    Below `min_confidence` nothing is done; from `clarify_threshold` on, with a lead of `clarify_margin`, no doubt is
    left. A `min_confidence` above `clarify_threshold` takes the place of both.
    """

    min_confidence: float = 0.6
    clarify_threshold: float = 0.8
    clarify_margin: float = 0.1

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 <= value <= 1:
                raise ConfigError(f"is {value}; give a number from 0 to 1", key=f"router.{field.name}")


def thresholds_of(config: Config) -> Thresholds:
    """Return the thresholds of a configuration."""
    router = config.router
    return Thresholds(router.min_confidence, router.clarify_threshold, router.clarify_margin)


def shortlist(scores: Mapping[int, float], *, thresholds: Thresholds) -> list[int]:
    """Return the keys of the scores that a decision could depend on or show, in no order; scores of 0 never."""
    best = sorted(scores.values(), reverse=True)[:SHOWN]
    if not best:
        return []
    floor = min(best[-1], best[0] - thresholds.clarify_margin)
    return [key for key, score in scores.items() if score >= floor and score > 0]


@value
class Verdict:
    """What the rules say: `rule` is the one that decided, `chosen` is None for no match and for a question.

    `ranked` are all candidates in falling order, `rivals` those that may be meant, the best of them first.
    """

    rule: Rule
    ranked: tuple[Candidate, ...] = ()
    chosen: Candidate | None = None
    rivals: tuple[Candidate, ...] = ()


def judge(
    candidates: Iterable[Candidate], priorities: Mapping[tuple[str, str], int], *, thresholds: Thresholds
) -> Verdict:
    """Judge which of `candidates`, in any order, is meant; `priorities` are by intent and plugin, 0 if missing.

    The first that holds: (1) the best is below `min_confidence`: no match; (2) it reaches `clarify_threshold` and
    leads by `clarify_margin`: it is clear; (3) others that reach `min_confidence` are within the margin: the one of
    strictly highest priority, else a question; (4) it is tried.

    0.8 leads 0.7 by exactly 0.1. A lead of exactly the margin is clear; a tie never is. Only another intent is a
    rival: of one that two plugins have the better candidate speaks.
    """
    ranked = tuple(sorted(candidates, key=lambda one: (-one.score, one.intent, one.plugin)))
    if not ranked:
        return Verdict("nothing")
    best = ranked[0]
    if not reaches(best.score, thresholds.min_confidence):
        return Verdict("below", ranked)
    close = _close(ranked, thresholds)
    if reaches(best.score, thresholds.clarify_threshold) and len(close) == 1:
        return Verdict("clear", ranked, best, (best,))
    rivals = tuple(rivals_of(ranked, thresholds))
    if len(rivals) == 1:
        return Verdict("tried", ranked, best, rivals)
    ranks = [priorities.get((rival.intent, rival.plugin), 0) for rival in rivals]
    if ranks.count(max(ranks)) > 1:
        return Verdict("close", ranked, None, rivals)
    return Verdict("priority", ranked, rivals[ranks.index(max(ranks))], rivals)


def decide(
    candidates: Iterable[Candidate],
    priorities: Mapping[tuple[str, str], int],
    *,
    thresholds: Thresholds,
    language: Language = "en",
) -> Decision:
    """Decide as `judge` does; the decision shows the best five, the chosen one always, and warns in `language`."""
    verdict = judge(candidates, priorities, thresholds=thresholds)
    shown = verdict.ranked[:SHOWN]
    if verdict.chosen is not None and verdict.chosen not in shown:
        shown = (*shown[: SHOWN - 1], verdict.chosen)
    return decision_of(verdict, shown, thresholds=thresholds, language=language)


def decision_of(
    verdict: Verdict, shown: tuple[Candidate, ...], *, thresholds: Thresholds, language: Language
) -> Decision:
    """Return the decision of a verdict, with `shown` as its candidates."""
    if verdict.chosen is not None:
        warning = _warning(verdict, thresholds, language=language) if verdict.rule == "tried" else None
        return Decision("dispatch", verdict.chosen.intent, verdict.chosen.score, shown, warning)
    best = verdict.ranked[0].score if verdict.ranked else 0.0
    return Decision("clarify" if verdict.rule == "close" else "no_match", "", best, shown)


def rivals_of(ranked: Sequence[Candidate], thresholds: Thresholds) -> list[Candidate]:
    """Return those of the candidates, which are in falling order, that may be meant as well as the best."""
    close = _close(ranked, thresholds) if ranked else []
    return [one for one in close if reaches(one.score, thresholds.min_confidence)]


def reaches(score: float, threshold: float) -> bool:
    """Say whether a score is at least a threshold, read as decimals."""
    return score >= threshold or round(score - threshold, _DIGITS) >= 0


def _close(ranked: Sequence[Candidate], thresholds: Thresholds) -> list[Candidate]:
    """Return the best and the other intents that it does not lead by the margin."""
    best = ranked[0]
    margin = max(thresholds.clarify_margin, 10**-_DIGITS)
    close = {best.intent: best}
    for one in ranked[1:]:
        if round(best.score - one.score, _DIGITS) >= margin:
            break
        close.setdefault(one.intent, one)
    return list(close.values())


def _warning(verdict: Verdict, thresholds: Thresholds, *, language: Language) -> str:
    best, *others = _close(verdict.ranked, thresholds)
    second = others[0] if others else None
    if language == "zh":
        rival = f"，{second.intent}（{second.score:.2f}）也很接近" if second else ""
        return f"把握不大：按 {best.intent}（{best.score:.2f}）处理{rival}；如果不是这个意思，请换个说法。"
    rival = f", with {second.intent} ({second.score:.2f}) close behind" if second else ""
    return f"Not quite sure: taken for {best.intent} ({best.score:.2f}){rival}; if that is not it, say it another way."
