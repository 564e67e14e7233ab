"""Why a decision fell as it did, with every candidate, in one sentence of Chinese or English. It decides nothing itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hermes.messages import Candidate, Decision
from hermes.routing.decision import Language, Thresholds, Verdict, decision_of, judge, reaches
from hermes.values import value

_LISTED = 5  # candidates that a sentence names

_SENTENCES: dict[str, tuple[str, str]] = {
    "empty": ("没有已加载的意图。", "There are no intents."),
    "nothing": ("文本里没有任何意图的关键词。", "No keyword of any intent is in the text."),
    "below": (
        "最高的 {best} 只有 {score}，低于 min_confidence（{enough}）。",
        "The best, {best}, comes to {score}, below min_confidence ({enough}).",
    ),
    "alone": (
        "{best} 得 {score}，达到 clarify_threshold（{sure}），没有别的候选。",
        "{best} comes to {score}, which reaches clarify_threshold ({sure}), and nothing else matched.",
    ),
    "clear": (
        "{best} 得 {score}，达到 clarify_threshold（{sure}），比 {second}高 {lead}，不小于 clarify_margin（{margin}）。",
        (
            "{best} comes to {score}, which reaches clarify_threshold ({sure}), and leads {second} by {lead}, "
            "at least clarify_margin ({margin})."
        ),
    ),
    "priority": (
        "{rivals}相差小于 clarify_margin（{margin}），{chosen} 的优先级（{rank}）最高。",
        "{rivals} are closer than clarify_margin ({margin}), and {chosen} has the highest priority ({rank}).",
    ),
    "close": (
        "{rivals}相差小于 clarify_margin（{margin}），没有一个优先级单独最高，所以反问。",
        "{rivals} are closer than clarify_margin ({margin}), and none has the highest priority alone, so it is asked.",
    ),
    "tried": (
        (
            "{best} 得 {score}，达到 min_confidence（{enough}）但低于 clarify_threshold（{sure}），"
            "clarify_margin（{margin}）之内没有别的候选达到 min_confidence，所以带警告执行。"
        ),
        (
            "{best} comes to {score}, which reaches min_confidence ({enough}) but not clarify_threshold ({sure}), and no "
            "other that reaches min_confidence is within clarify_margin ({margin}), so it is tried, with a warning."
        ),
    ),
    "doubted": (
        (
            "{best} 得 {score}，达到 clarify_threshold（{sure}），比 {second}高 {lead}，小于 clarify_margin（{margin}），"
            "但后者低于 min_confidence（{enough}），所以带警告执行。"
        ),
        (
            "{best} comes to {score}, which reaches clarify_threshold ({sure}), but leads {second} by {lead}, less than "
            "clarify_margin ({margin}); as that one is below min_confidence ({enough}), it is tried, with a warning."
        ),
    ),
    "named": (
        "文本以 {command} 开头，直接指明了工具。",
        "The text begins with {command}, which names the tool.",
    ),
    "named_plugin": (
        "文本以 {command} 开头，这个插件有几个意图，所以反问。",
        "The text begins with {command}, a plugin with several intents, so it is asked which.",
    ),
    "settled": ("由策略 {kind} 决定。", "The strategy {kind} decided so."),
    "negated": (
        "关键词指向 {chosen}，它会改动数据，但关键词前面有否定的说法，所以反问。",
        "The keywords lead to {chosen}, which changes something, but a negation stands before them, so it is asked.",
    ),
}


@value
class Explanation:
    """A decision over every candidate with a score, `reason` (one sentence), and the thresholds it was made with."""

    decision: Decision
    reason: str
    thresholds: Thresholds


def explain(
    candidates: Iterable[Candidate],
    priorities: Mapping[tuple[str, str], int],
    *,
    thresholds: Thresholds,
    language: Language,
) -> Explanation:
    """Decide as `decide` does, and say by which rule, with the numbers that it went by."""
    verdict = judge(candidates, priorities, thresholds=thresholds)
    decision = decision_of(verdict, verdict.ranked, thresholds=thresholds, language=language)
    return Explanation(
        decision, _reason(verdict, priorities, thresholds=thresholds, language=language), thresholds
    )


def because(name: str, language: Language, **values: str) -> str:
    """Return the sentence of that name with its values filled in.

    `empty` and `nothing` need none, `named` and `named_plugin` a `command`, `settled` a `kind`, `negated` what was
    `chosen`.
    """
    chinese, english = _SENTENCES[name]
    return (chinese if language == "zh" else english).format(**values)


def told(candidate: Candidate, language: Language) -> str:
    """Return a candidate with its score, to stand in a sentence."""
    number = _number(candidate.score)
    return f"{candidate.intent}（{number}）" if language == "zh" else f"{candidate.intent} ({number})"


def _reason(
    verdict: Verdict, priorities: Mapping[tuple[str, str], int], *, thresholds: Thresholds, language: Language
) -> str:
    if not verdict.ranked:
        return because("nothing", language)
    best = verdict.ranked[0]
    second = next((one for one in verdict.ranked if one.intent != best.intent), None)
    values = {
        "best": best.intent,
        "score": _number(best.score),
        "rivals": _list(verdict.rivals, language),
        "enough": _number(thresholds.min_confidence),
        "sure": _number(thresholds.clarify_threshold),
        "margin": _number(thresholds.clarify_margin),
    }
    if second is not None:
        values |= {"second": told(second, language), "lead": _number(best.score - second.score)}
    if verdict.chosen is not None:
        rank = priorities.get((verdict.chosen.intent, verdict.chosen.plugin), 0)
        values |= {"chosen": verdict.chosen.intent, "rank": str(rank)}
    return because(_sentence(verdict, thresholds, alone=second is None), language, **values)


def _sentence(verdict: Verdict, thresholds: Thresholds, *, alone: bool) -> str:
    """Return which sentence tells the rule of a verdict."""
    if verdict.rule == "clear" and alone:
        return "alone"
    if (
        verdict.rule == "tried"
        and reaches(verdict.ranked[0].score, thresholds.clarify_threshold)
        and not alone
    ):
        return "doubted"
    return verdict.rule


def _list(candidates: Sequence[Candidate], language: Language) -> str:
    names = [told(one, language) for one in candidates[:_LISTED]]
    more = len(candidates) - len(names)
    if language == "zh":
        return "、".join(names) + (f"等 {more + len(names)} 个" if more else "")
    if more:
        return f"{', '.join(names)} and {more} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else ""


def _number(number: float) -> str:
    """Return a number as a reader writes it: of 4 decimals those that are not 0."""
    return f"{round(number, 4):.4f}".rstrip("0").rstrip(".")
