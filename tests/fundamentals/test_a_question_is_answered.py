"""When Hermes asks back, the next message of the conversation answers, and what was asked for runs as it was sent."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hermes.messages import new_id
from tests.conftest import StartDaemon
from tests.support.clock import WallClock
from tests.support.daemon import Daemon, write_plugin

TELL = "async def handle(message, context):\n    return message['intent']\n"
APP, WEB = "上线应用 / bring out the app", "上线网站 / bring out the website"


def code(record: dict[str, Any]) -> str | None:
    error = record["envelope"]["error"]
    return None if error is None else str(error["code"])


@pytest.mark.parametrize("answer", ["2", "第二个", "deploy.web", WEB, "网站", "the website, please"])
def test_a_number_a_name_or_words_choose_what_runs(daemon: Daemon, answer: str) -> None:
    session = new_id()
    asked = daemon.send("上线 v2.1 到 cn", session_id=session, payload={"note": 7})
    assert code(asked) == "clarification_needed"
    record = daemon.send(answer, session_id=session)
    assert (record["status"], record["resumes"]) == ("succeeded", asked["request_id"])
    assert record["request_id"] != asked["request_id"]
    assert record["decision"]["outcome"] == "resumed"
    assert record["message"]["intent"] == record["decision"]["intent"] == "deploy.web"
    assert record["envelope"]["data"] == {
        "text": "上线 v2.1 到 cn",
        "note": 7,
        "version": "2.1",
        "region": "cn",
    }
    assert [frame.event for frame in daemon.story(record["request_id"])] == [
        "TASK_RECEIVED",
        "TOOL_STARTED",
        "TOOL_SUCCEEDED",
    ]


def test_a_conversation_goes_on_until_everything_is_known(daemon: Daemon) -> None:
    session = daemon.send("马上上线")["session_id"]
    step = daemon.send("the second one", session_id=session)
    assert (code(step), step["envelope"]["data"]["missing"]) == (
        "clarification_needed",
        ["version", "region"],
    )
    step = daemon.send("version: 3", session_id=session)
    assert (code(step), step["envelope"]["data"]["missing"]) == ("clarification_needed", ["region"])
    record = daemon.send("eu", session_id=session)
    assert record["envelope"]["data"] == {"text": "马上上线", "version": "3", "region": "eu"}
    assert record["resumes"] == step["request_id"]


@pytest.mark.parametrize("text", ["echo 你好", "讲个笑话", "tell me a joke"])
def test_another_message_is_a_request_of_its_own_after_which_a_late_answer_means_nothing(
    daemon: Daemon, text: str
) -> None:
    session = daemon.send("马上上线")["session_id"]
    record = daemon.send(text, session_id=session)
    assert (record["resumes"], record["message"]["payload"]["text"]) == (None, text)
    assert code(daemon.send("2", session_id=session)) == "no_match"


@pytest.mark.parametrize(
    ("text", "digest"), [("算了", "好的，没有执行。"), ("never mind", "All right, nothing was done.")]
)
def test_who_wants_none_of_it_says_so(daemon: Daemon, text: str, digest: str) -> None:
    session = daemon.send("马上上线")["session_id"]
    record = daemon.send(text, session_id=session)
    assert (record["status"], record["digest"], record["plugin"]) == ("succeeded", digest, None)
    assert code(daemon.send("2", session_id=session)) == "no_match"


def test_of_many_answers_at_once_one_counts(daemon: Daemon) -> None:
    session = new_id()
    asked = daemon.send("马上上线", session_id=session)
    ready = threading.Barrier(6)

    def answer(text: str) -> dict[str, Any]:
        ready.wait(20)
        return daemon.send(text, session_id=session)

    with ThreadPoolExecutor(6) as pool:
        records = list(pool.map(answer, ("1", "一", "first", "第一个", "①", "the first one")))
    assert [record["resumes"] for record in records].count(asked["request_id"]) == 1
    assert sorted(map(str, map(code, records))) == ["None", *["no_match"] * 5]


def test_an_answer_that_is_sent_again_runs_nothing(daemon: Daemon) -> None:
    session = daemon.send("马上上线")["session_id"]
    body = {"text": "1", "session_id": session, "request_id": new_id()}
    first = daemon.post("/v1/messages?wait=20", body)
    again = daemon.post("/v1/messages?wait=20", body)
    assert again.headers["idempotent-replayed"] == "true"
    assert first.json == again.json
    assert first.json["status"] == "succeeded"


def test_the_answer_may_come_after_hermes_was_killed(start_daemon: StartDaemon) -> None:
    first = start_daemon(plugins=["deploy"])
    open_, closed = first.send("马上上线", payload={"note": 7}), first.send("马上上线")
    missing = first.send("网站上线 v2")
    first.send("讲个笑话", session_id=closed["session_id"])
    first.kill()
    second = start_daemon(plugins=["deploy"])
    record = second.send("1", session_id=open_["session_id"])
    assert (record["status"], record["resumes"]) == ("succeeded", open_["request_id"])
    assert record["envelope"]["data"] == {"text": "马上上线", "note": 7}
    assert code(second.send("1", session_id=closed["session_id"])) == "no_match"
    record = second.send("cn", session_id=missing["session_id"])
    assert record["envelope"]["data"] == {"text": "网站上线 v2", "version": "2", "region": "cn"}
    second.kill()
    third = start_daemon(plugins=["deploy"])
    assert code(third.send("1", session_id=open_["session_id"])) == "no_match"


def test_nobody_answers_a_question_that_was_put_too_long_ago(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    clock = WallClock(tmp_path)
    daemon = start_daemon(plugins=["deploy"], environ=clock.environ)
    on_time, late = daemon.send("马上上线"), daemon.send("马上上线")
    asked = late["envelope"]["data"]
    assert asked["expires_at"] - late["finished_at"] == pytest.approx(600, abs=5)
    clock.step(500)
    assert daemon.send("1", session_id=on_time["session_id"])["status"] == "succeeded"
    clock.step(700)
    assert code(daemon.send("1", session_id=late["session_id"])) == "no_match"


def test_two_that_are_nearly_as_likely_are_both_offered(start_daemon: StartDaemon, tmp_path: Path) -> None:
    write_plugin(tmp_path, "one", TELL, keywords={"备份": 0.72})
    write_plugin(tmp_path, "two", TELL, keywords={"备份": 0.7})
    daemon = start_daemon()
    asked = daemon.send("做个备份", session_id="s")
    scores = [candidate["score"] for candidate in asked["decision"]["candidates"]]
    assert scores == pytest.approx([0.72, 0.7])
    assert [option["intent"] for option in asked["envelope"]["data"]["options"]] == ["one", "two"]
    assert daemon.send("2", session_id="s")["envelope"]["data"] == "two"
    daemon.send("做个备份", session_id="s")
    assert daemon.send("one", session_id="s")["envelope"]["data"] == "one"


RESTART = {
    "name": "server.restart",
    "description": "重启服务器 / restart the server",
    "keywords": {"重启": 0.9, "restart": 0.9},
    "writes": True,
    "confirm": False,
}


def test_what_is_negated_runs_only_if_the_question_is_answered_with_yes(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    write_plugin(tmp_path, "server", TELL, intents=[RESTART])
    daemon = start_daemon()
    answers = [(text, "server.restart") for text in ("1", "是", "yes", "server.restart", "重启服务器")]
    answers += [("不", "好的，没有执行。"), ("no", "All right, nothing was done.")]
    for text in ("不要重启", "don't restart"):
        for answer, data in answers:
            asked = daemon.send(text, session_id="s")
            assert (code(asked), len(asked["envelope"]["data"]["options"])) == ("clarification_needed", 1)
            assert asked["decision"]["warning"] in asked["digest"]
            record = daemon.send(answer, session_id="s")
            assert (record["resumes"], record["envelope"]["data"]) == (asked["request_id"], data)
        first, second = (daemon.send(text, session_id="s") for _ in range(2))
        assert code(first) == code(second) == "clarification_needed"
        assert second["resumes"] is None
