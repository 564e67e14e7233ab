from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.errors import ConfigError
from hermes.messages import Decision, Match
from hermes.routing.decision import Thresholds
from hermes.routing.lexicon import IntentEntry
from hermes.routing.router import Routed, Router

ECHO = IntentEntry("echo", "echo", {"echo": 0.9, "回声": 0.9})
STATUS = IntentEntry("system.status", "system-status", {"负载": 0.9, "状态": 0.7})
BUILD = IntentEntry("ci.status", "gitlab", {"构建": 0.5, "build": 0.7}, priority=10)
BOTH = ["prefix", "keyword"]
WORDS = st.sampled_from(["echo", "负载", "状态", "构建", "build", "log"])
ENTRIES = st.lists(
    st.builds(
        IntentEntry,
        intent=st.sampled_from(["a", "b", "c.d"]),
        plugin=st.sampled_from(["p", "q"]),
        keywords=st.dictionaries(WORDS, st.sampled_from([0.9, 0.8, 0.6, -0.5]), max_size=4),
        priority=st.integers(0, 2),
        writes=st.booleans(),
    ),
    unique_by=lambda entry: (entry.intent, entry.plugin),
    max_size=6,
)


def router(*entries: IntentEntry, strategies: list[str] | None = None) -> Router:
    return Router(BOTH if strategies is None else strategies, Thresholds(), entries=entries)


def test_strategies_are_asked_in_order() -> None:
    assert router(ECHO, STATUS).route("/echo 负载").decision.intent == "echo"
    assert (
        router(ECHO, STATUS, strategies=["keyword", "prefix"]).route("/echo 负载").decision.outcome
        == "clarify"
    )


def test_the_strategy_that_is_not_named_is_not_asked() -> None:
    assert router(ECHO, strategies=["prefix"]).route("echo hi").decision.outcome == "no_match"
    assert router(ECHO, strategies=[]).route("/echo hi") == Routed(Decision("no_match"), "/echo hi")


def test_after_a_no_match_the_next_strategy_is_asked() -> None:
    routed = router(BUILD, strategies=["keyword", "prefix"]).route("/gitlab 构建")
    assert (routed.decision.outcome, routed.decision.intent, routed.text) == ("dispatch", "ci.status", "构建")


def test_the_most_confident_no_match_stands() -> None:
    decision = router(BUILD).route("构建").decision
    assert (decision.outcome, decision.confidence) == ("no_match", 0.5)
    assert [candidate.intent for candidate in decision.candidates] == ["ci.status"]


@pytest.mark.parametrize(
    "text", ["", " \n　", "🚀🔥", "\ud800", "how are you", "天气怎么样", "x" * 1_000_000, "/", "//"]
)
def test_what_nobody_knows_is_a_no_match_without_confidence(text: str) -> None:
    assert router(ECHO, STATUS).route(text) == Routed(Decision("no_match"), text)


def test_without_intents_nothing_matches() -> None:
    assert router().route("/echo 回声").decision == Decision("no_match")
    assert router().intents == ()


def test_a_new_lexicon_takes_the_place_of_the_old() -> None:
    changing = router(ECHO)
    changing.load([STATUS, BUILD])
    assert changing.intents == (BUILD, STATUS)
    assert changing.route("echo").decision.outcome == "no_match"
    assert changing.route("负载").decision.intent == "system.status"


def test_a_lexicon_that_cannot_be_built_leaves_the_old_in_force() -> None:
    changing = router(ECHO)
    with pytest.raises(ConfigError, match="keyword '。' of intent 'bad'"):
        changing.load([STATUS, IntentEntry("bad", "p", {"。": 0.5})])
    assert changing.intents == (ECHO,)
    assert changing.route("回声").decision.intent == "echo"


def test_a_warning_is_in_the_language_of_the_text_or_in_the_one_asked_for() -> None:
    asked = router(STATUS, BUILD)
    assert (asked.route("状态如何").decision.warning or "").startswith("把握不大")
    assert (asked.route("the build?").decision.warning or "").startswith("Not quite sure")
    assert (asked.route("the build?", language="zh").decision.warning or "").startswith("把握不大")
    assert (asked.route("状态如何", language="en").decision.warning or "").startswith("Not quite sure")


def test_an_unknown_strategy_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'prefix'"):
        Router(["prefixes"], Thresholds())


def test_a_strategy_from_outside_takes_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "last_resort-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: last-resort\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[hermes.routing.strategies]\nlast = last_resort:Last\n")
    (tmp_path / "last_resort.py").write_text(
        "from hermes.messages import Decision\n"
        "from hermes.routing.router import Routed\n"
        "class Last:\n"
        "    def __init__(self, thresholds): self.sure = thresholds.min_confidence\n"
        "    def route(self, text, lexicon, *, language):\n"
        "        return Routed(Decision('dispatch', lexicon.entries[0].intent, self.sure), text)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    decision = router(ECHO, strategies=[*BOTH, "last"]).route("what is this?").decision
    assert (decision.outcome, decision.intent, decision.confidence) == ("dispatch", "echo", 0.6)

    explained = router(ECHO, strategies=[*BOTH, "last"]).explain("what is this?")
    assert (explained.decision, explained.reason) == (decision, "The strategy last decided so.")
    assert explained.thresholds == Thresholds()


@given(ENTRIES, st.lists(WORDS, max_size=4).map(" ".join), st.randoms())
def test_invariant_the_order_of_manifests_never_changes_a_decision(
    entries: list[IntentEntry], text: str, random: Any
) -> None:
    shuffled = random.sample(entries, len(entries))
    assert router(*shuffled).route(text) == router(*entries).route(text)


@given(ENTRIES, st.lists(WORDS, min_size=1, max_size=4).map(" ".join))
def test_invariant_an_unrelated_plugin_never_changes_what_the_winner_matched(
    entries: list[IntentEntry], text: str
) -> None:
    stranger = IntentEntry("unrelated", "new", {"天气": 0.9, "weather": 0.9, "logbook": 0.9, "builder": 0.9})
    assert router(*entries, stranger).route(text) == router(*entries).route(text)


@given(ENTRIES, st.text(st.characters()) | st.lists(WORDS).map("/".join))
def test_invariant_every_text_gets_a_decision_that_holds_together(
    entries: list[IntentEntry], text: str
) -> None:
    asked = router(*entries)
    decision = asked.route(text).decision
    explained = asked.explain(text).decision
    assert replace(explained, candidates=decision.candidates) == decision
    assert set(decision.candidates) <= set(explained.candidates)
    scores = [candidate.score for candidate in decision.candidates]
    assert (decision.outcome == "dispatch") == (decision.intent != "")
    assert scores == sorted(scores, reverse=True)
    assert len(scores) <= 5
    assert decision.outcome == "dispatch" or decision.confidence == max(scores, default=0.0)
    assert decision.intent in {"", *(candidate.intent for candidate in decision.candidates)}


def test_when_the_two_best_are_close_hermes_asks_about_both() -> None:
    entries = [
        IntentEntry("web.deploy", "web", {"上线": 0.72, "deploy": 0.72}),
        IntentEntry("app.deploy", "app", {"上线": 0.7, "deploy": 0.7}),
    ]
    asked = router(*entries)
    for text in ("马上上线", "deploy it"):
        decision = asked.route(text).decision
        assert (decision.outcome, decision.intent, decision.confidence) == ("clarify", "", 0.72)
        assert [(one.intent, one.score) for one in asked.rivals(decision)] == [
            ("web.deploy", 0.72),
            ("app.deploy", 0.7),
        ]


def test_an_explanation_shows_every_candidate_with_all_its_keywords_and_the_rule() -> None:
    many = [IntentEntry(f"many.{number}", "many", {"备份": 0.3, "backup": 0.3}) for number in range(9)]
    best = IntentEntry("backup.run", "runner", {"备份": 0.9, "马上": 0.5, "明天": -0.5})
    hidden = IntentEntry("never", "runner", {"备份": 0.9, "马上": -1})
    explained = router(*many, best, hidden).explain("马上备份，不是明天")
    assert len(explained.decision.candidates) == 10
    first = explained.decision.candidates[0]
    assert (first.intent, first.score) == ("backup.run", 0.475)
    assert first.matched == (Match("备份", 0.9), Match("马上", 0.5), Match("明天", -0.5))
    assert explained.reason == "最高的 backup.run 只有 0.475，低于 min_confidence（0.6）。"
    assert explained.thresholds == Thresholds()


@pytest.mark.parametrize(
    ("text", "english", "chinese"),
    [
        (
            "/echo hi",
            "The text begins with /echo, which names the tool.",
            "文本以 /echo 开头，直接指明了工具。",
        ),
        ("／ＥＣＨＯ hi", "The text begins with /ＥＣＨＯ, which", "文本以 /ＥＣＨＯ 开头"),
        ("nothing at all", "No keyword of any intent is in the text.", "文本里没有任何意图的关键词。"),
        ("", "No keyword of any intent is in the text.", "文本里没有任何意图的关键词。"),
    ],
)
def test_a_reason_is_in_the_language_asked_for(text: str, english: str, chinese: str) -> None:
    asked = router(ECHO, STATUS)
    assert asked.explain(text, language="en").reason.startswith(english)
    assert asked.explain(text, language="zh").reason.startswith(chinese)


def test_a_reason_is_in_the_language_of_the_text_if_none_is_asked_for() -> None:
    assert router(ECHO).explain("天气").reason == "文本里没有任何意图的关键词。"
    assert router(ECHO).explain("weather").reason == "No keyword of any intent is in the text."
    assert router().explain("weather").reason == "There are no intents."


def test_a_command_of_a_plugin_with_several_intents_is_explained_with_all_of_them() -> None:
    entries = [IntentEntry(f"db.{name}", "db", {"db": 0.9}) for name in "abcdefg"]
    explained = router(*entries).explain("/db orders")
    assert (
        explained.reason == "The text begins with /db, a plugin with several intents, so it is asked which."
    )
    assert len(explained.decision.candidates) == 7
    assert len(router(*entries).route("/db orders").decision.candidates) == 5


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\n\t\u3000",
        "\ud800",
        "重启\udfff",
        "🚀🔥👩‍👩‍👧‍👦",
        "\u202e\u200f\u202b",
        "\u202e重启\u202c",
        "\0",
        "/" * 10_000,
        "不" * 100_000,
        "restart " * 100_000,
        "重启" * 500_000,
        "a\u0301" * 300_000,
    ],
    ids=lambda text: f"{text[:6]!a} × {len(text)}",
)
def test_a_bad_text_gets_a_decision_and_a_reason(text: str) -> None:
    asked = router(
        IntentEntry("service.restart", "services", {"重启": 0.9, "restart": 0.9}, writes=True), ECHO
    )
    explained = asked.explain(text)
    assert explained.decision == asked.route(text).decision
    assert explained.reason
    assert "重启" in text or "restart" in text or explained.decision == Decision("no_match")


def test_a_question_is_about_those_who_may_be_meant_as_well_and_no_others() -> None:
    entries = [
        IntentEntry("web.deploy", "web", {"deploy": 0.8}),
        IntentEntry("app.deploy", "app", {"deploy": 0.75}),
        IntentEntry("app.notes", "app", {"deploy": 0.3}),
    ]
    router = Router(["keyword"], Thresholds(), entries=entries)
    decision = router.route("deploy").decision
    assert (decision.outcome, len(decision.candidates)) == ("clarify", 3)
    assert [one.intent for one in router.rivals(decision)] == ["web.deploy", "app.deploy"]
