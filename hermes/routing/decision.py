"""From scores to a decision: the only place with thresholds. It never guesses; what is close becomes a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal

from hermes.errors import ConfigError
from hermes.messages import Candidate, Decision
from hermes.routing.scoring import DIGITS

Language = Literal["zh", "en"]

SHOWN = 5


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


def shortlist(scores: Mapping[int, float], *, thresholds: Thresholds) -> list[int]:
    """Return the keys of the scores that a decision could depend on or show, in no order; scores of 0 never."""
    best = sorted(scores.values(), reverse=True)[:SHOWN]
    if not best:
        return []
    floor = min(best[-1], best[0] - thresholds.clarify_margin)
    return [key for key, score in scores.items() if score >= floor and score > 0]


def decide(
    candidates: Sequence[Candidate],
    priorities: Mapping[tuple[str, str], int],
    *,
    thresholds: Thresholds,
    language: Language = "en",
) -> Decision:
    """Decide which of `candidates`, in any order, is meant; `priorities` are by intent and plugin, 0 if missing.

    The first that holds: (1) the best is below `min_confidence`: no match; (2) it reaches `clarify_threshold` and
    leads by `clarify_margin`: dispatch; (3) others that reach `min_confidence` are within the margin: the one of
    strictly highest priority, else a question; (4) dispatch with a warning.

    Differences are rounded to 4 digits, so that 0.8 leads 0.7 by exactly 0.1. A lead of exactly the margin is
    clear; a tie never is. The decision shows the best five, the chosen one always; its warning is in `language`.
    """
    ranked = sorted(candidates, key=lambda candidate: (-candidate.score, candidate.intent, candidate.plugin))
    if not ranked:
        return Decision("no_match")
    best = ranked[0]
    shown = tuple(ranked[:SHOWN])
    if best.score < thresholds.min_confidence:
        return Decision("no_match", "", best.score, shown)
    close = _close(ranked, thresholds)
    if best.score >= thresholds.clarify_threshold and len(close) == 1:
        return Decision("dispatch", best.intent, best.score, shown)
    rivals = rivals_of(ranked, thresholds)
    if len(rivals) > 1:
        return _between(rivals, priorities, shown=shown)
    second = close[1] if len(close) > 1 else None
    return Decision("dispatch", best.intent, best.score, shown, _warning(best, second, language=language))


def rivals_of(ranked: Sequence[Candidate], thresholds: Thresholds) -> list[Candidate]:
    """Return those of the candidates, which are in falling order, that may be meant as well as the best."""
    return [one for one in _close(ranked, thresholds) if one.score >= thresholds.min_confidence]


def _close(ranked: Sequence[Candidate], thresholds: Thresholds) -> list[Candidate]:
    margin = max(thresholds.clarify_margin, 10**-DIGITS)
    return [one for one in ranked if round(ranked[0].score - one.score, DIGITS) < margin]


def _between(
    rivals: Sequence[Candidate], priorities: Mapping[tuple[str, str], int], *, shown: tuple[Candidate, ...]
) -> Decision:
    ranks = [priorities.get((rival.intent, rival.plugin), 0) for rival in rivals]
    if ranks.count(max(ranks)) > 1:
        return Decision("clarify", "", rivals[0].score, shown)
    chosen = rivals[ranks.index(max(ranks))]
    if chosen not in shown:
        shown = (*shown[: SHOWN - 1], chosen)
    return Decision("dispatch", chosen.intent, chosen.score, shown)


def _warning(best: Candidate, second: Candidate | None, *, language: Language) -> str:
    if language == "zh":
        rival = f"，{second.intent}（{second.score:.2f}）也很接近" if second else ""
        return f"把握不大：按 {best.intent}（{best.score:.2f}）处理{rival}；如果不是这个意思，请换个说法。"
    rival = f", with {second.intent} ({second.score:.2f}) close behind" if second else ""
    return f"Not quite sure: taken for {best.intent} ({best.score:.2f}){rival}; if that is not it, say it another way."
