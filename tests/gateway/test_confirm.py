"""Deciding a call over HTTP: what waits for it, what each answer is, and that a kill changes nothing about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import StartDaemon
from tests.support.client import Answer
from tests.support.daemon import Daemon, write_plugin
from tests.support.waiting import until

SIGN: dict[str, Any] = {"intent": "gate.sign", "payload": {"name": "合同"}}
BRIEF = """
async def handle(message, context):
    raise AssertionError("nobody agreed to this")
"""


def parked(daemon: Daemon, body: Any = SIGN) -> dict[str, Any]:
    """Send what needs a confirmation, and return its record once it waits for that."""
    answer = daemon.post("/v1/messages?wait=20", body)
    assert (answer.status, answer.json["status"]) == (200, "awaiting_confirmation"), answer.body
    record: dict[str, Any] = answer.json
    return record


def confirm(daemon: Daemon, record: dict[str, Any] | str, *, approve: object = True) -> Answer:
    request_id = record if isinstance(record, str) else record["request_id"]
    return daemon.post(f"/v1/messages/{request_id}/confirm", {"approve": approve})


@pytest.fixture
def waiting(daemon: Daemon) -> dict[str, Any]:
    """The record of a call that waits."""
    return parked(daemon)


def test_a_call_that_needs_a_confirmation_answers_at_once_and_says_what_would_run(daemon: Daemon) -> None:
    for answer in (
        daemon.post("/v1/messages?wait=20", SIGN),
        daemon.post("/v1/messages", SIGN, prefer="wait=20"),
    ):
        assert answer.status == 200
        record = answer.json
        assert record["status"] == "awaiting_confirmation"
        confirmation = record["confirmation"]
        assert confirmation.items() >= {"intent": "gate.sign", "plugin": "gate", "approved": None}.items()
        assert confirmation["payload"] == SIGN["payload"]
        assert confirmation["expires_at"] > record["received_at"]
        assert (record["envelope"], record["finished_at"], record["attempts"]) == (None, None, 0)
        assert daemon.record(record["request_id"]) == record
        assert daemon.runs(record["request_id"]) == 0


def test_who_does_not_wait_gets_the_usual_answer(daemon: Daemon) -> None:
    answer = daemon.post("/v1/messages", SIGN)
    assert (answer.status, answer.json["status"]) == (202, "accepted")
    path = answer.json["links"]["self"]
    until(lambda: daemon.get(path).json["status"] == "awaiting_confirmation")


def test_what_is_approved_runs_with_what_was_shown(daemon: Daemon, waiting: dict[str, Any]) -> None:
    answer = confirm(daemon, waiting)
    assert answer.status == 200
    assert answer.json["confirmation"] == waiting["confirmation"] | {
        "approved": True,
        "decided_by": {"kind": "local", "id": "local", "person": None},
        "decided_at": answer.json["confirmation"]["decided_at"],
    }
    events = daemon.story(waiting["request_id"])
    assert events[-1].data["envelope"]["data"] == {"passed": "合同"}
    assert daemon.runs(waiting["request_id"]) == 1
    assert confirm(daemon, waiting, approve=False).problem == (409, "already_decided")
    assert daemon.record(waiting["request_id"])["status"] == "succeeded"


def test_what_is_declined_answers_with_its_end(daemon: Daemon, waiting: dict[str, Any]) -> None:
    record = confirm(daemon, waiting, approve=False).json
    assert (record["status"], record["envelope"]["error"]["code"]) == ("failed", "declined")
    assert daemon.record(waiting["request_id"]) == record
    for approve in (True, False):
        answer = confirm(daemon, waiting, approve=approve)
        assert answer.problem == (409, "already_decided")
    assert daemon.runs(waiting["request_id"]) == 0


def test_a_stream_shows_the_question_and_goes_on_after_the_answer(daemon: Daemon) -> None:
    with daemon.post_stream(SIGN) as stream:
        received, question = stream.next(), stream.next()
        assert question.data["stage"] == "awaiting_confirmation"
        assert question.data["text"] == "gate.sign 需要确认后才会执行，要执行吗？"
        record = daemon.record(received.data["request_id"])
        assert question.data["confirmation"] == record["confirmation"]
        assert confirm(daemon, record).status == 200
        frames = [received, question, *stream]
    types = [frame.event for frame in frames]
    assert types == ["TASK_RECEIVED", "PROGRESS", "TOOL_STARTED", "PROGRESS", "TOOL_SUCCEEDED"]
    assert [frame.data["seq"] for frame in frames] == [1, 2, 3, 4, 5]
    late = daemon.story(record["request_id"])
    assert [(frame.id, frame.data) for frame in late] == [(frame.id, frame.data) for frame in frames]


def test_a_list_shows_what_waits_until_it_is_decided(daemon: Daemon) -> None:
    session = parked(daemon)["session_id"]
    second = parked(daemon, SIGN | {"session_id": session})

    def listed() -> list[dict[str, Any]]:
        query = f"status=awaiting_confirmation&session_id={session}"
        items: list[dict[str, Any]] = daemon.get(f"/v1/messages?{query}").json["items"]
        return items

    before = listed()
    assert (len(before), before[0]) == (2, second)
    confirm(daemon, second, approve=False)
    assert listed() == before[1:]


def test_what_is_cancelled_cannot_be_confirmed(daemon: Daemon, waiting: dict[str, Any]) -> None:
    path = waiting["links"]["self"]
    assert daemon.delete(path).status == 202
    assert daemon.story(waiting["request_id"])[-1].data["envelope"]["error"]["code"] == "cancelled"
    assert confirm(daemon, waiting).problem == (409, "conflict")
    assert daemon.delete(path).problem == (409, "conflict")
    assert daemon.runs(waiting["request_id"]) == 0


def test_what_does_not_ask_cannot_be_answered(daemon: Daemon) -> None:
    assert confirm(daemon, "nobody").problem == (404, "not_found")
    record = daemon.send(intent="gate.read")
    assert confirm(daemon, record).problem == (409, "conflict")


def test_who_agrees_beforehand_is_not_asked(daemon: Daemon) -> None:
    record = daemon.send(**SIGN, approve=True)
    assert (record["status"], record["confirmation"]["approved"]) == ("succeeded", True)
    assert confirm(daemon, record).problem == (409, "already_decided")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "approve"),
        ({"approve": "yes"}, "approve"),
        ({"approve": "true"}, "approve"),
        ({"approve": 1}, "approve"),
        ({"approve": None}, "approve"),
        ({"approve": True, "by": "me"}, "by"),
    ],
    ids=str,
)
def test_anything_but_a_clear_answer_is_refused_and_leaves_it_open(
    daemon: Daemon, body: dict[str, Any], field: str
) -> None:
    record = parked(daemon)
    answer = daemon.post(f"/v1/messages/{record['request_id']}/confirm", body)
    assert answer.problem == (422, "invalid_field")
    assert answer.json["field"] == field
    assert daemon.record(record["request_id"]) == record


def test_what_is_no_such_request_at_all_is_refused(daemon: Daemon, waiting: dict[str, Any]) -> None:
    path, plain = f"{waiting['links']['self']}/confirm", {"content-type": "text/plain"}
    assert daemon.request("POST", path, body=b"yes", headers=plain).problem == (415, "unsupported_media_type")
    for body in (b"", b"yes", b"true", b"[true]"):
        answer = daemon.request("POST", path, body=body, headers={"content-type": "application/json"})
        assert answer.problem == (400, "malformed")
    answer = daemon.post(f"{path}?approve=true", {"approve": True})
    assert (answer.problem, answer.json["field"]) == ((422, "invalid_field"), "approve")
    assert daemon.get(path).problem == (405, "method_not_allowed")
    assert daemon.record(waiting["request_id"]) == waiting


def test_after_a_kill_what_waited_waits_and_what_was_decided_stays_so(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    write_plugin(tmp_path, "brief", BRIEF, writes=True, confirm={"expires": 0.3})
    daemon = start_daemon(plugins=["gate"])
    yes, no, later = (parked(daemon, SIGN | {"request_id": name}) for name in ("yes", "no", "later"))
    brief = parked(daemon, {"intent": "brief"})
    confirm(daemon, later, approve=False)
    declined = daemon.record("later")
    daemon.kill()

    again = start_daemon()
    assert (again.record("yes"), again.record("no"), again.record("later")) == (yes, no, declined)
    replayed = again.post("/v1/messages?wait=20", SIGN | {"request_id": "yes"})
    assert (replayed.json, replayed.headers["idempotent-replayed"]) == (yes, "true")
    assert confirm(again, yes).status == 200
    assert confirm(again, no, approve=False).json["envelope"]["error"]["code"] == "declined"
    assert confirm(again, later).problem == (409, "already_decided")
    assert [frame.event for frame in again.story("yes")] == [
        "TASK_RECEIVED",
        "PROGRESS",
        "TOOL_STARTED",
        "PROGRESS",
        "TOOL_SUCCEEDED",
    ]
    assert again.story(brief["request_id"])[-1].data["envelope"]["error"]["code"] == "confirmation_expired"
    assert confirm(again, brief).problem == (410, "already_decided")
    assert [again.runs(one) for one in ("yes", "no", "later")] == [1, 0, 0]
    assert again.faults() == []
