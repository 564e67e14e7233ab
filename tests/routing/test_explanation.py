from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.messages import Candidate
from hermes.routing.decision import Language, Thresholds, decide
from hermes.routing.explanation import Explanation, because, explain, told

DEFAULTS = Thresholds()
LEVEL = st.integers(0, 100).map(lambda percent: percent / 100)
SCORES = st.dictionaries(st.sampled_from("abcdefgh"), LEVEL, max_size=8)
THRESHOLDS = st.builds(Thresholds, min_confidence=LEVEL, clarify_threshold=LEVEL, clarify_margin=LEVEL)
PRIORITIES = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-2, 2))


def explained(
    scores: dict[str, float],
    thresholds: Thresholds = DEFAULTS,
    *,
    priorities: dict[str, int] | None = None,
    language: Language = "en",
) -> Explanation:
    candidates = [Candidate(intent, "p", score) for intent, score in scores.items()]
    ranks = {(intent, "p"): priority for intent, priority in (priorities or {}).items()}
    return explain(candidates, ranks, thresholds=thresholds, language=language)


@pytest.mark.parametrize(
    ("scores", "priorities", "english", "chinese"),
    [
        ({}, {}, "No keyword of any intent is in the text.", "文本里没有任何意图的关键词。"),
        (
            {"a": 0.5999, "b": 0.2},
            {},
            "The best, a, comes to 0.5999, below min_confidence (0.6).",
            "最高的 a 只有 0.5999，低于 min_confidence（0.6）。",
        ),
        (
            {"a": 0.8},
            {},
            "a comes to 0.8, which reaches clarify_threshold (0.8), and nothing else matched.",
            "a 得 0.8，达到 clarify_threshold（0.8），没有别的候选。",
        ),
        (
            {"a": 0.8, "b": 0.7},
            {},
            "a comes to 0.8, which reaches clarify_threshold (0.8), and leads b (0.7) by 0.1, at least clarify_margin (0.1).",
            "a 得 0.8，达到 clarify_threshold（0.8），比 b（0.7）高 0.1，不小于 clarify_margin（0.1）。",
        ),
        (
            {"a": 0.85, "b": 0.8},
            {"b": 10},
            "a (0.85) and b (0.8) are closer than clarify_margin (0.1), and b has the highest priority (10).",
            "a（0.85）、b（0.8）相差小于 clarify_margin（0.1），b 的优先级（10）最高。",
        ),
        (
            {"a": 0.72, "b": 0.7, "c": 0.69},
            {},
            (
                "a (0.72), b (0.7) and c (0.69) are closer than clarify_margin (0.1), and none has the highest priority "
                "alone, so it is asked."
            ),
            "a（0.72）、b（0.7）、c（0.69）相差小于 clarify_margin（0.1），没有一个优先级单独最高，所以反问。",
        ),
        (
            {"a": 0.65, "b": 0.59},
            {"b": 9},
            (
                "a comes to 0.65, which reaches min_confidence (0.6) but not clarify_threshold (0.8), and no other that "
                "reaches min_confidence is within clarify_margin (0.1), so it is tried, with a warning."
            ),
            (
                "a 得 0.65，达到 min_confidence（0.6）但低于 clarify_threshold（0.8），"
                "clarify_margin（0.1）之内没有别的候选达到 min_confidence，所以带警告执行。"
            ),
        ),
    ],
)
def test_every_rule_is_told_with_its_numbers(
    scores: dict[str, float], priorities: dict[str, int], english: str, chinese: str
) -> None:
    assert explained(scores, priorities=priorities).reason == english
    assert explained(scores, priorities=priorities, language="zh").reason == chinese


def test_one_that_is_sure_with_another_close_behind_that_is_not_enough_is_told() -> None:
    strict = Thresholds(min_confidence=0.8)
    assert explained({"a": 0.82, "b": 0.79}, strict).reason == (
        "a comes to 0.82, which reaches clarify_threshold (0.8), but leads b (0.79) by 0.03, less than clarify_margin "
        "(0.1); as that one is below min_confidence (0.8), it is tried, with a warning."
    )
    assert explained({"a": 0.82, "b": 0.79}, strict, language="zh").reason == (
        "a 得 0.82，达到 clarify_threshold（0.8），比 b（0.79）高 0.03，小于 clarify_margin（0.1），"
        "但后者低于 min_confidence（0.8），所以带警告执行。"
    )


def test_of_many_that_are_close_the_first_five_are_named() -> None:
    many = dict.fromkeys("abcdefgh", 0.9)
    assert explained(many).reason.startswith(
        "a (0.9), b (0.9), c (0.9), d (0.9), e (0.9) and 3 more are closer"
    )
    assert explained(many, language="zh").reason.startswith(
        "a（0.9）、b（0.9）、c（0.9）、d（0.9）、e（0.9）等 8 个"
    )


def test_every_candidate_is_shown_not_the_best_five_alone() -> None:
    scores = {name: (number + 1) / 10 for number, name in enumerate("abcdefgh")}
    shown = explained(scores).decision.candidates
    assert [(one.intent, one.score) for one in shown] == sorted(scores.items(), reverse=True)


def test_the_thresholds_that_decided_are_told() -> None:
    assert explained({"a": 0.9}).thresholds == DEFAULTS
    assert explained({}, Thresholds(min_confidence=0.1)).thresholds.min_confidence == 0.1


def test_other_reasons_have_both_languages() -> None:
    assert because("named", "en", command="/echo") == "The text begins with /echo, which names the tool."
    assert because("named", "zh", command="/回声") == "文本以 /回声 开头，直接指明了工具。"
    assert because("negated", "zh", chosen=told(Candidate("a", "p", 0.9), "zh")).startswith(
        "关键词指向 a（0.9），"
    )
    assert "a (0.9)" in because("negated", "en", chosen=told(Candidate("a", "p", 0.9), "en"))


@given(SCORES, THRESHOLDS, PRIORITIES, st.sampled_from(["zh", "en"]))
def test_an_explanation_decides_as_the_decision_does_in_one_sentence(
    scores: dict[str, float], thresholds: Thresholds, priorities: dict[str, int], language: Language
) -> None:
    found = explained(scores, thresholds, priorities=priorities, language=language)
    ranks = {(intent, "p"): priority for intent, priority in priorities.items()}
    candidates = [Candidate(intent, "p", score) for intent, score in scores.items()]
    decision = decide(candidates, ranks, thresholds=thresholds, language=language)
    assert (found.decision.outcome, found.decision.intent) == (decision.outcome, decision.intent)
    assert (found.decision.confidence, found.decision.warning) == (decision.confidence, decision.warning)
    assert set(decision.candidates) <= set(found.decision.candidates)
    assert re.fullmatch(r"[^。\n{}]+。" if language == "zh" else r"[^\n{}]+[a-z)]\.", found.reason)
