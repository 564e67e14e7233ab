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
        ("／ci.pipeline.status　web", "ci.pipeline.status", "web"),
        ("／ＣＩ．Ｐｉｐｅｌｉｎｅ．ｓｔａｔｕｓ web", "ci.pipeline.status", "web"),
        ("／天气\n上海\n  北京", "天气", "上海\n  北京"),
        ("/echo \"two  words\" 'one'", "echo", "\"two  words\" 'one'"),
        ("/echo “你好”", "echo", "“你好”"),
        ("\n\n/echo hi", "echo", "hi"),
        ("\t/echo\thi\t", "echo", "hi"),
        ("/echo // /", "echo", "// /"),
        ("/echo \u202ehi\u202c", "echo", "\u202ehi\u202c"),
        ("/echo\r\nhi\r\n", "echo", "hi"),
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
        "/x",
        "//echo hi",
        "/ ",
        "／",
        "／／echo",
        '"/echo hi"',
        "“/echo hi”",
        "`/echo hi`",
        "> /echo hi",
        "\\echo hi",
        "/echo;hi",
        "/e cho",
        "/echo.",
        "/ci",
        "/ci.pipeline",
        "/\0echo",
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


@pytest.mark.parametrize("text", ["/sqlite orders", "／ＳＱＬＩＴＥ", "/echo hi", "/gitlab\nweb"])
def test_an_explanation_decides_alike_and_names_the_command(text: str) -> None:
    found = routed(text)
    explained = PrefixStrategy(Thresholds()).explain(text, LEXICON, language="en")
    assert found is not None
    assert explained is not None
    assert explained.decision == found.decision
    assert f"begins with {text.split(maxsplit=1)[0].replace('／', '/')}," in explained.reason


def test_of_a_plugin_with_many_intents_an_explanation_shows_all_and_a_decision_five() -> None:
    lexicon = Lexicon([IntentEntry(f"db.{number}", "db", {}, priority=number) for number in range(9)])
    found = routed("/db", lexicon)
    explained = PrefixStrategy(Thresholds()).explain("/db", lexicon, language="zh")
    assert found is not None
    assert explained is not None
    shown = [one.intent for one in explained.decision.candidates]
    assert shown == [f"db.{number}" for number in range(8, -1, -1)]
    assert [one.intent for one in found.decision.candidates] == shown[:5]
    assert explained.reason == "文本以 /db 开头，这个插件有几个意图，所以反问。"


def test_text_that_does_not_concern_it_is_not_explained() -> None:
    assert PrefixStrategy(Thresholds()).explain("echo hi", LEXICON, language="en") is None
    assert PrefixStrategy(Thresholds()).explain("/unknown hi", LEXICON, language="en") is None
