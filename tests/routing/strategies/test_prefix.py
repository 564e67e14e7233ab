from __future__ import annotations

import pytest

from hermes.messages import Candidate, Decision
from hermes.routing.decision import Thresholds
from hermes.routing.lexicon import IntentEntry, Lexicon
from hermes.routing.strategies.base import Routed
from hermes.routing.strategies.prefix import PrefixStrategy

LEXICON = Lexicon(
    [
        IntentEntry("echo", "echo", {"echo": 0.9}),
        IntentEntry("ci.pipeline.status", "gitlab", {"流水线": 0.9}),
        IntentEntry("db.query", "sqlite", {"sql": 0.9}),
        IntentEntry("db.tables", "sqlite", {"表": 0.9}, priority=1),
        IntentEntry("天气", "weather-cn", {}),
    ]
)


def routed(text: str, lexicon: Lexicon = LEXICON) -> Routed | None:
    return PrefixStrategy(Thresholds()).route(text, lexicon, language="en")


@pytest.mark.parametrize(
    ("text", "intent", "rest"),
    [
        ("/echo hello  world", "echo", "hello  world"),
        ("/echo", "echo", ""),
        ("  /echo\nline one\nline two\n", "echo", "line one\nline two"),
        ("／echo　你好", "echo", "你好"),
        ("/Echo hi", "echo", "hi"),
        ("／ＥＣＨＯ hi", "echo", "hi"),
        ("\ufeff/echo hi", "echo", "hi"),
        ("\u200b /echo \ud800", "echo", "\ud800"),
        ("/ci.pipeline.status web", "ci.pipeline.status", "web"),
        ("/gitlab web", "ci.pipeline.status", "web"),
        ("/db.query select 1", "db.query", "select 1"),
        ("/天气 上海", "天气", "上海"),
        ("/weather-cn 上海", "天气", "上海"),
        ("/echo /echo twice", "echo", "/echo twice"),
    ],
)
def test_a_name_after_a_slash_dispatches_and_the_rest_is_the_text(text: str, intent: str, rest: str) -> None:
    found = routed(text)
    assert found is not None
    assert (found.decision.outcome, found.decision.intent, found.decision.confidence) == (
        "dispatch",
        intent,
        1.0,
    )
    assert [(c.intent, c.score) for c in found.decision.candidates] == [(intent, 1.0)]
    assert found.decision.warning is None
    assert found.text == rest


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/",
        "//",
        "/ echo hi",
        "echo /echo",
        "/unknown hi",
        "/etc/hosts",
        "/echo/x",
        "/echoes",
        "echo",
        "/\ud800",
        "/🚀",
    ],
)
def test_anything_else_does_not_concern_it(text: str) -> None:
    assert routed(text) is None


def test_a_plugin_with_several_intents_becomes_a_question_between_them() -> None:
    candidates = (Candidate("db.tables", "sqlite", 1.0), Candidate("db.query", "sqlite", 1.0))
    assert routed("/sqlite orders") == Routed(Decision("clarify", "", 1.0, candidates), "orders")


def test_an_intent_goes_before_a_plugin_of_the_same_name() -> None:
    lexicon = Lexicon(
        [IntentEntry("deploy", "b", {}), IntentEntry("x", "deploy", {}), IntentEntry("y", "deploy", {})]
    )
    found = routed("/deploy web", lexicon)
    assert found is not None
    assert [(c.intent, c.plugin) for c in found.decision.candidates] == [("deploy", "b")]


def test_a_megabyte_after_the_name_goes_on_whole() -> None:
    found = routed("/echo " + "x" * 1_000_000)
    assert found is not None
    assert len(found.text) == 1_000_000
