"""`hermes route`: the decision for a reader and for a script."""

from __future__ import annotations

import json

from tests.cli.command import Hermes
from tests.support.daemon import Daemon


def test_the_decision_is_shown_with_every_candidate_and_its_keywords(hermes: Hermes) -> None:
    done = hermes("route", "上线 网站 v2")
    assert done.code == 0
    assert done.lines == [
        "outcome     dispatch",
        "intent      deploy.web",
        "confidence  0.985",
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
    assert (done.code, done.lines) == (0, ["outcome     no_match", "confidence  0.000"])


def test_json_is_what_the_daemon_says(hermes: Hermes, daemon: Daemon) -> None:
    done = hermes("route", "deploy", "--json")
    assert json.loads(done.out) == daemon.post("/v1/route", {"text": "deploy"}).json


def test_nothing_runs(hermes: Hermes, daemon: Daemon) -> None:
    before = daemon.get("/v1/messages?limit=1").json["items"]
    assert hermes("route", "echo hello").code == 0
    assert daemon.get("/v1/messages?limit=1").json["items"] == before
