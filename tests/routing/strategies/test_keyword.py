from __future__ import annotations

from hermes.messages import Candidate, Decision, Match
from hermes.routing.decision import Thresholds
from hermes.routing.lexicon import IntentEntry, Lexicon
from hermes.routing.strategies.base import Routed
from hermes.routing.strategies.keyword import KeywordStrategy

LEXICON = Lexicon(
    [
        IntentEntry(
            "ci.status", "gitlab", {"流水线": 0.9, "Pipeline": 0.9, "构建": 0.5, "build": 0.5, "本地": -0.9}
        ),
        IntentEntry("log.show", "logs", {"日志": 0.8, "log": 0.8}),
        *(IntentEntry(f"many.{number}", "many", {"备份": 0.9}, priority=number) for number in range(40)),
    ]
)


def routed(text: str, thresholds: Thresholds | None = None) -> Routed | None:
    return KeywordStrategy(thresholds or Thresholds()).route(text, LEXICON, language="en")


def test_candidates_come_with_their_keywords_as_the_manifest_writes_them() -> None:
    assert routed("pipelines 和 构建") == Routed(
        Decision(
            "dispatch",
            "ci.status",
            0.95,
            (Candidate("ci.status", "gitlab", 0.95, (Match("Pipeline", 0.9), Match("构建", 0.5))),),
        ),
        "pipelines 和 构建",
    )


def test_two_intents_that_are_close_become_a_question() -> None:
    found = routed("构建 build 日志")
    assert found is not None
    assert found.decision.outcome == "clarify"
    assert [(c.intent, c.score) for c in found.decision.candidates] == [
        ("log.show", 0.8),
        ("ci.status", 0.75),
    ]


def test_a_negative_keyword_is_shown_and_lowers_the_score() -> None:
    found = routed("本地的流水线")
    assert found is not None
    assert found.decision.outcome == "no_match"
    assert found.decision.candidates == (
        Candidate("ci.status", "gitlab", 0.09, (Match("流水线", 0.9), Match("本地", -0.9))),
    )


def test_text_without_a_positive_keyword_does_not_concern_it() -> None:
    assert routed("天气怎么样") is None
    assert routed("本地") is None
    assert routed("") is None


def test_of_many_that_tie_the_strictly_highest_priority_wins_and_is_shown() -> None:
    found = routed("备份")
    assert found is not None
    assert found.decision.intent == "many.39"
    assert len(found.decision.candidates) == 5
    assert found.decision.candidates[-1].intent == "many.39"


def test_the_thresholds_it_was_made_with_decide() -> None:
    strict = routed("日志", Thresholds(min_confidence=0.85))
    assert strict is not None
    assert strict.decision.outcome == "no_match"
