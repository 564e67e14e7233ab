from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.errors import ConfigError
from hermes.messages import Candidate, Decision
from hermes.routing.decision import Thresholds, decide, judge, rivals_of, shortlist

DEFAULTS = Thresholds()
LEVEL = st.integers(0, 100).map(lambda percent: percent / 100)
SCORES = st.dictionaries(st.sampled_from("abcdefgh"), LEVEL, max_size=8)
THRESHOLDS = st.builds(Thresholds, min_confidence=LEVEL, clarify_threshold=LEVEL, clarify_margin=LEVEL)
PRIORITIES = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-2, 2))


def decided(
    scores: dict[str, float], thresholds: Thresholds = DEFAULTS, *, priorities: dict[str, int] | None = None
) -> Decision:
    candidates = [Candidate(intent, "p", score) for intent, score in scores.items()]
    ranks = {(intent, "p"): priority for intent, priority in (priorities or {}).items()}
    return decide(candidates, ranks, thresholds=thresholds)


def branch(decision: Decision) -> str:
    chosen = f" {decision.intent}" if decision.intent else ""
    return f"{decision.outcome}{chosen}{' warned' if decision.warning else ''}"


@pytest.mark.parametrize(
    ("scores", "priorities", "expected"),
    [
        # (1) not enough
        ({}, {}, "no_match"),
        ({"a": 0.0}, {}, "no_match"),
        ({"a": 0.5999}, {}, "no_match"),
        ({"a": 0.59, "b": 0.59}, {"a": 9}, "no_match"),
        # (2) enough and alone
        ({"a": 0.8}, {}, "dispatch a"),
        ({"a": 1.0, "b": 0.9}, {}, "dispatch a"),
        ({"a": 0.8, "b": 0.7}, {}, "dispatch a"),
        ({"a": 0.8, "b": 0.7}, {"b": 9}, "dispatch a"),
        ({"a": 0.95, "b": 0.85, "c": 0.85}, {"b": 9}, "dispatch a"),
        # (3) another is close
        ({"a": 0.8, "b": 0.7001}, {}, "clarify"),
        ({"a": 0.9, "b": 0.9}, {}, "clarify"),
        ({"a": 1.0, "b": 1.0}, {}, "clarify"),
        ({"a": 0.72, "b": 0.70}, {}, "clarify"),
        ({"a": 0.6, "b": 0.6}, {}, "clarify"),
        ({"a": 0.85, "b": 0.8}, {"a": 1}, "dispatch a"),
        ({"a": 0.85, "b": 0.8}, {"b": 1}, "dispatch b"),
        ({"a": 0.85, "b": 0.8}, {"a": -1}, "dispatch b"),
        ({"a": 0.65, "b": 0.62}, {"b": 1}, "dispatch b"),
        ({"a": 0.85, "b": 0.8, "c": 0.8}, {"b": 1, "c": 1}, "clarify"),
        ({"a": 0.85, "b": 0.8, "c": 0.8}, {"b": 1, "c": 2}, "dispatch c"),
        ({"a": 0.85, "b": 0.8, "c": 0.5}, {"c": 9}, "clarify"),
        ({"a": 0.9, "b": 0.85, "c": 0.8}, {"c": 9}, "clarify"),
        # (4) enough to try, not enough to be sure
        ({"a": 0.6}, {}, "dispatch a warned"),
        ({"a": 0.7999}, {}, "dispatch a warned"),
        ({"a": 0.7, "b": 0.6}, {}, "dispatch a warned"),
        ({"a": 0.65, "b": 0.59}, {"b": 9}, "dispatch a warned"),
    ],
)
def test_every_row_of_the_decision_table(
    scores: dict[str, float], priorities: dict[str, int], expected: str
) -> None:
    assert branch(decided(scores, priorities=priorities)) == expected


@pytest.mark.parametrize(
    ("thresholds", "scores", "expected"),
    [
        (Thresholds(min_confidence=0), {"a": 0.01}, "dispatch a warned"),
        (Thresholds(min_confidence=0), {"a": 0.05, "b": 0.01}, "clarify"),
        (Thresholds(min_confidence=1), {"a": 0.99}, "no_match"),
        (Thresholds(min_confidence=1), {"a": 1.0, "b": 0.95}, "dispatch a warned"),
        (Thresholds(min_confidence=0.9, clarify_threshold=0.5), {"a": 0.89}, "no_match"),
        (Thresholds(min_confidence=0.9, clarify_threshold=0.5), {"a": 0.9}, "dispatch a"),
        (Thresholds(clarify_threshold=0), {"a": 0.6}, "dispatch a"),
        (Thresholds(clarify_threshold=1), {"a": 0.99}, "dispatch a warned"),
        (Thresholds(clarify_margin=0), {"a": 0.9, "b": 0.8999}, "dispatch a"),
        (Thresholds(clarify_margin=0), {"a": 0.9, "b": 0.9}, "clarify"),
        (Thresholds(clarify_margin=0.3), {"a": 1.0, "b": 0.7}, "dispatch a"),
        (Thresholds(clarify_margin=0.31), {"a": 1.0, "b": 0.7}, "clarify"),
        (Thresholds(clarify_margin=1), {"a": 1.0}, "dispatch a"),
    ],
)
def test_every_threshold_takes_effect(
    thresholds: Thresholds, scores: dict[str, float], expected: str
) -> None:
    assert branch(decided(scores, thresholds)) == expected


@pytest.mark.parametrize("best", [percent / 100 for percent in range(80, 101)])
def test_a_lead_of_exactly_the_margin_is_clear_whatever_binary_fractions_make_of_it(best: float) -> None:
    assert branch(decided({"a": best, "b": round(best - 0.1, 2)})) == "dispatch a"
    assert branch(decided({"a": best, "b": round(best - 0.09, 2)})) == "clarify"


@pytest.mark.parametrize("margin", [percent / 100 for percent in range(1, 100)])
def test_no_margin_is_missed_by_a_binary_fraction(margin: float) -> None:
    thresholds = Thresholds(min_confidence=0, clarify_threshold=0, clarify_margin=margin)
    assert branch(decided({"a": 1.0, "b": round(1 - margin, 2)}, thresholds)) == "dispatch a"
    assert branch(decided({"a": 1.0, "b": round(1 - margin + 0.0001, 4)}, thresholds)) == "clarify"
    assert branch(decided({"a": 1.0, "b": 1 - margin}, thresholds)) == "dispatch a"


@pytest.mark.parametrize("noise", [-1e-12, 1e-12])
def test_what_arithmetic_adds_to_a_score_decides_nothing(noise: float) -> None:
    assert branch(decided({"a": 0.6 + noise})) == "dispatch a warned"
    assert branch(decided({"a": 0.8 + noise})) == "dispatch a"
    assert branch(decided({"a": 0.8, "b": 0.7 + noise})) == "dispatch a"
    assert branch(decided({"a": 0.9, "b": 0.9 + noise}, Thresholds(clarify_margin=0))) == "clarify"
    assert branch(decided({"a": 0.65, "b": 0.6 + noise}, priorities={"b": 1})) == "dispatch b"


def test_a_threshold_finer_than_scores_are_takes_effect() -> None:
    assert branch(decided({"a": 0.6}, Thresholds(min_confidence=0.60001))) == "no_match"
    assert branch(decided({"a": 0.8}, Thresholds(clarify_threshold=0.80001))) == "dispatch a warned"
    assert branch(decided({"a": 0.9, "b": 0.8}, Thresholds(clarify_margin=0.10001))) == "clarify"


@pytest.mark.parametrize("score", [0.65, 0.9])
def test_one_intent_of_two_plugins_is_no_question_which_intent_is_meant(score: float) -> None:
    twins = [Candidate("a", "p", score), Candidate("a", "q", score)]
    decision = decide(twins, {}, thresholds=DEFAULTS)
    assert (decision.outcome, decision.intent, decision.candidates) == ("dispatch", "a", tuple(twins))
    assert (decision.warning is None) == (score == 0.9)


def test_one_intent_of_two_plugins_is_asked_about_once() -> None:
    three = [Candidate("a", "p", 0.9), Candidate("a", "q", 0.9), Candidate("b", "p", 0.85)]
    decision = decide(three, {}, thresholds=DEFAULTS)
    assert decision.outcome == "clarify"
    assert [(one.intent, one.plugin) for one in rivals_of(decision.candidates, DEFAULTS)] == [
        ("a", "p"),
        ("b", "p"),
    ]


def test_a_question_without_candidates_is_about_nothing() -> None:
    assert rivals_of((), DEFAULTS) == []


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["min_confidence", "clarify_threshold", "clarify_margin"])
def test_a_threshold_outside_zero_and_one_is_refused_by_its_key(name: str, value: float) -> None:
    with pytest.raises(ConfigError, match="from 0 to 1") as refused:
        replace(DEFAULTS, **{name: value})
    assert refused.value.key == f"router.{name}"


@pytest.mark.parametrize(
    ("scores", "priorities", "rule", "chosen", "rivals"),
    [
        ({}, {}, "nothing", "", ""),
        ({"a": 0.5}, {}, "below", "", ""),
        ({"a": 0.8, "b": 0.7}, {}, "clear", "a", "a"),
        ({"a": 0.8, "b": 0.75, "c": 0.75}, {"c": 1}, "priority", "c", "abc"),
        ({"a": 0.72, "b": 0.70, "c": 0.6}, {}, "close", "", "ab"),
        ({"a": 0.65, "b": 0.59}, {"b": 9}, "tried", "a", "a"),
    ],
)
def test_the_rule_that_decided_is_known_with_those_it_was_between(
    scores: dict[str, float], priorities: dict[str, int], rule: str, chosen: str, rivals: str
) -> None:
    ranks = {(intent, "p"): priority for intent, priority in priorities.items()}
    verdict = judge((Candidate(name, "p", one) for name, one in scores.items()), ranks, thresholds=DEFAULTS)
    assert (verdict.rule, verdict.chosen.intent if verdict.chosen else "") == (rule, chosen)
    assert "".join(one.intent for one in verdict.rivals) == rivals


def test_confidence_is_the_score_of_the_chosen_or_of_the_best() -> None:
    assert decided({"a": 0.85, "b": 0.8}, priorities={"b": 1}).confidence == 0.8
    assert decided({"a": 0.85, "b": 0.8}).confidence == 0.85
    assert decided({"a": 0.4, "b": 0.3}).confidence == 0.4
    assert decided({}).confidence == 0.0


def test_a_no_match_lists_what_came_near() -> None:
    decision = decided({"a": 0.3, "b": 0.4})
    assert [(c.intent, c.score) for c in decision.candidates] == [("b", 0.4), ("a", 0.3)]


def test_the_best_five_are_shown_in_falling_order() -> None:
    decision = decided({name: 0.9 - number / 10 for number, name in enumerate("gfedcba")})
    assert "".join(candidate.intent for candidate in decision.candidates) == "gfedc"


def test_one_chosen_for_its_priority_is_shown_though_five_are_better() -> None:
    decision = decided(
        {name: 0.89 - number / 100 for number, name in enumerate("gfedcba")}, priorities={"a": 1}
    )
    assert decision.intent == "a"
    assert "".join(candidate.intent for candidate in decision.candidates) == "gfeda"


def test_equal_scores_are_in_the_order_of_intent_and_plugin() -> None:
    same = [Candidate("b", "p", 0.9), Candidate("a", "q", 0.9), Candidate("a", "p", 0.9)]
    decision = decide(same, {}, thresholds=DEFAULTS)
    assert [(c.intent, c.plugin) for c in decision.candidates] == [("a", "p"), ("a", "q"), ("b", "p")]


def test_a_warning_names_the_intent_in_the_language_asked_for() -> None:
    one = [Candidate("ci.build", "p", 0.7)]
    english = decide(one, {}, thresholds=DEFAULTS).warning or ""
    chinese = decide(one, {}, thresholds=DEFAULTS, language="zh").warning or ""
    assert english.startswith("Not quite sure")
    assert chinese.startswith("把握不大")
    assert all("ci.build" in sentence and "0.70" in sentence for sentence in (english, chinese))


def test_a_warning_names_a_rival_that_was_close_but_not_enough() -> None:
    strict = Thresholds(min_confidence=0.8)
    two = [Candidate("a.first", "p", 0.82), Candidate("b.second", "p", 0.79)]
    assert "b.second (0.79) close behind" in (decide(two, {}, thresholds=strict).warning or "")
    assert "b.second（0.79）也很接近" in (decide(two, {}, thresholds=strict, language="zh").warning or "")


@given(SCORES, THRESHOLDS, PRIORITIES, st.randoms())
def test_the_order_of_candidates_never_changes_the_decision(
    scores: dict[str, float], thresholds: Thresholds, priorities: dict[str, int], random: Any
) -> None:
    shuffled = list(scores.items())
    random.shuffle(shuffled)
    assert decided(dict(shuffled), thresholds, priorities=priorities) == decided(
        scores, thresholds, priorities=priorities
    )


@given(SCORES, THRESHOLDS, PRIORITIES)
def test_the_shortlist_leaves_out_nothing_that_could_matter(
    scores: dict[str, float], thresholds: Thresholds, priorities: dict[str, int]
) -> None:
    names = sorted(scores)
    kept = shortlist({number: scores[name] for number, name in enumerate(names)}, thresholds=thresholds)
    some = {names[number]: scores[names[number]] for number in kept}
    above_zero = {name: score for name, score in scores.items() if score > 0}
    assert decided(some, thresholds, priorities=priorities) == decided(
        above_zero, thresholds, priorities=priorities
    )
