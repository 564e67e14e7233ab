from __future__ import annotations

from dataclasses import replace

import pytest

from hermes.messages import Candidate, Decision, Match
from hermes.routing.decision import Thresholds
from hermes.routing.guard import Guard, asked_first
from hermes.routing.lexicon import IntentEntry, Lexicon
from hermes.routing.router import Router

GUARD = Guard(
    Lexicon(
        [
            IntentEntry("restart", "services", {"重启": 0.9, "restart": 0.9}, writes=True),
            IntentEntry("look", "services", {"重启": 0.5, "restart": 0.5}),
        ]
    )
)
CHOSEN = Candidate("restart", "services", 0.9, (Match("restart", 0.9),))
OTHER = Candidate("look", "services", 0.5, (Match("restart", 0.5),))
HIT = Decision("dispatch", "restart", 0.9, (CHOSEN, OTHER))


@pytest.mark.parametrize("text", ["不要重启", "don't restart"])
def test_a_negated_direct_hit_that_writes_is_stopped(text: str) -> None:
    assert GUARD.stopped(HIT, text) == CHOSEN


@pytest.mark.parametrize("text", ["重启", "restart it"])
def test_one_that_is_not_negated_is_not(text: str) -> None:
    assert GUARD.stopped(HIT, text) is None


@pytest.mark.parametrize(
    "decision",
    [
        Decision("dispatch", "look", 0.9, (OTHER, CHOSEN)),
        Decision("dispatch", "restart", 1.0, (replace(CHOSEN, matched=()),)),
        Decision("dispatch", "restart", 1.0),
        Decision("dispatch", "restart", 0.9, (replace(CHOSEN, plugin="gone"),)),
        Decision("clarify", "", 0.9, (CHOSEN, OTHER)),
        Decision("no_match", "", 0.9, (CHOSEN,)),
    ],
    ids=[
        "it only reads",
        "it was named",
        "it has no candidates",
        "it is not there",
        "it is asked",
        "it is nobody's",
    ],
)
def test_of_negated_texts_only_a_direct_hit_by_keywords_on_what_writes_is_stopped(decision: Decision) -> None:
    for text in ("不要重启", "don't restart"):
        assert GUARD.stopped(decision, text) is None


def test_the_question_keeps_its_score_and_says_why() -> None:
    asked = asked_first(CHOSEN, (CHOSEN,), language="en")
    assert (asked.outcome, asked.intent, asked.confidence, asked.candidates) == (
        "clarify",
        "",
        0.9,
        (CHOSEN,),
    )
    assert "restart changes something" in (asked.warning or "")
    assert "restart 会改动数据" in (asked_first(CHOSEN, (CHOSEN,), language="zh").warning or "")


def router(*entries: IntentEntry) -> Router:
    return Router(["prefix", "keyword"], Thresholds(), entries=entries)


RESTART = IntentEntry("service.restart", "services", {"重启": 0.9, "restart": 0.9}, writes=True)
LOOK = IntentEntry("service.look", "services", {"看看": 0.9, "look": 0.9})


@pytest.mark.parametrize(
    ("text", "warning", "reason"),
    [
        (
            "不要重启 web",
            "这句话像是在说不要做，而 service.restart 会改动数据，所以先问一下。",
            "关键词指向 service.restart（0.9），它会改动数据，但关键词前面有否定的说法，所以反问。",
        ),
        (
            "please don't restart web",
            "This seems to say not to, and service.restart changes something, so it is asked first.",
            (
                "The keywords lead to service.restart (0.9), which changes something, but a negation stands before them, "
                "so it is asked."
            ),
        ),
    ],
)
def test_what_a_text_says_not_to_do_is_asked_about_alone(text: str, warning: str, reason: str) -> None:
    asked = router(RESTART, LOOK)
    decision = asked.route(text).decision
    assert (decision.outcome, decision.intent, decision.confidence) == ("clarify", "", 0.9)
    assert decision.warning == warning
    assert [one.intent for one in asked.rivals(decision)] == ["service.restart"]
    explained = asked.explain(text)
    assert (explained.decision, explained.reason) == (decision, reason)


def test_a_question_for_a_negation_is_about_one_though_others_are_close() -> None:
    near = IntentEntry("service.status", "services", {"重启": 0.88}, priority=-1)
    asked = router(RESTART, near)
    decision = asked.route("不要重启").decision
    assert [one.intent for one in asked.rivals(decision)] == ["service.restart"]
    explained = asked.explain("不要重启").decision
    assert [one.intent for one in explained.candidates] == ["service.restart", "service.status"]


@pytest.mark.parametrize(
    "text", ["/service.restart 不要", "/service.restart don't restart", "重启 web", "不要看看"]
)
def test_a_command_and_what_only_reads_are_not_asked_about(text: str) -> None:
    assert router(RESTART, LOOK).route(text).decision.outcome == "dispatch"


def test_a_negated_text_that_is_for_nobody_stays_a_no_match() -> None:
    weak = IntentEntry("service.restart", "services", {"重启": 0.5, "restart": 0.5}, writes=True)
    for text in ("不要重启", "don't restart"):
        assert router(weak).route(text).decision.outcome == "no_match"
