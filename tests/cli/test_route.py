"""`hermes route`: the decision for a reader and for a script."""

from __future__ import annotations

import json
import re

import pytest

from tests.cli.command import Hermes
from tests.support.daemon import Daemon


def unstyled(screen: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", screen)


def test_the_decision_is_shown_with_every_candidate_and_its_keywords(hermes: Hermes) -> None:
    done = hermes("route", "上线 网站 v2")
    assert done.code == 0
    assert done.lines == [
        "outcome     dispatch",
        "intent      deploy.web",
        "confidence  0.985",
        "reason      deploy.web 得 0.985，达到 clarify_threshold（0.8），比 deploy.app（0.85）高 0.135，不小于 clarify_margin（0.1）。",
        "",
        "INTENT      PLUGIN  SCORE  MATCHED",
        "deploy.web  deploy  0.985  网站 0.9, 上线 0.85",
        "deploy.app  deploy  0.850  上线 0.85",
    ]


def test_chinese_and_english_columns_stand_under_each_other(hermes: Hermes) -> None:
    done = hermes("route", "deploy 应用 app")
    table = done.lines[done.lines.index("") + 1 :]
    assert [line.index("0.") for line in table[1:]] == [table[0].index("SCORE")] * (len(table) - 1)


def test_a_text_that_is_for_nobody_is_an_answer_too(hermes: Hermes) -> None:
    done = hermes("route", "天气怎么样")
    assert (done.code, done.lines) == (
        0,
        ["outcome     no_match", "confidence  0.000", "reason      文本里没有任何意图的关键词。"],
    )


def test_json_is_what_the_daemon_says(hermes: Hermes, daemon: Daemon) -> None:
    done = hermes("route", "deploy", "--json")
    assert json.loads(done.out) == daemon.post("/v1/route", {"text": "deploy"}).json


def test_nothing_runs(hermes: Hermes, daemon: Daemon) -> None:
    before = daemon.get("/v1/messages?limit=1").json["items"]
    assert hermes("route", "echo hello").code == 0
    assert daemon.get("/v1/messages?limit=1").json["items"] == before


@pytest.mark.parametrize("text", ["", "  ", "🚀🔥", "\u202e\u200f", "\u200b", "//", "-"])
def test_a_text_without_a_word_is_answered_too(hermes: Hermes, text: str) -> None:
    done = hermes("route", "--", text)
    assert (done.code, done.err) == (0, "")
    assert done.lines == [
        "outcome     no_match",
        "confidence  0.000",
        "reason      No keyword of any intent is in the text.",
    ]


def test_bytes_that_are_no_text_are_refused_in_one_line(hermes: Hermes) -> None:
    done = hermes("route", b"echo \xed\xa0\x80")
    assert (done.code, done.out) == (2, "")
    assert "it is not UTF-8 text" in done.err


def test_on_a_narrow_terminal_the_keywords_stand_below_each_candidate(hermes: Hermes) -> None:
    screen = hermes.on_terminal("route", "上线 网站 v2", columns=40)
    table = unstyled(screen).split("\r\n\r\n")[1].splitlines()
    assert table == [
        "INTENT      PLUGIN  SCORE",
        "deploy.web  deploy  0.985",
        "    matched 网站 0.9, 上线 0.85",
        "deploy.app  deploy  0.850",
        "    matched 上线 0.85",
    ]


def test_what_spoke_against_a_candidate_is_shown(hermes: Hermes) -> None:
    done = hermes("route", "web 的流水线跑完了吗")
    assert done.lines[1] == "intent      ci.pipeline.status"
    assert "流水线 0.7, 跑 0.4, 了吗 -0.9, 跑完 -0.9" in done.out
