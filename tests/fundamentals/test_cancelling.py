"""A message that is under way can be cancelled; one that has ended cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.daemon import Daemon
from tests.support.waiting import until


def _running(daemon: Daemon, intent: str, gate: Path) -> str:
    request_id = daemon.accept(intent=intent, payload={"gate": str(gate), "name": "取消"})
    until(lambda: daemon.runs(request_id))
    return request_id


def test_a_running_call_is_stopped_and_ends_cancelled(daemon: Daemon, tmp_path: Path) -> None:
    request_id = _running(daemon, "gate.read", tmp_path / "gate")
    answer = daemon.delete(f"/v1/messages/{request_id}")
    assert answer.status == 202
    assert answer.json["request_id"] == request_id
    last = daemon.story(request_id)[-1]
    assert last.event == "TOOL_FAILED"
    assert last.data["envelope"]["error"] == {"code": "cancelled", "message": "已取消。", "retryable": False}
    assert last.data["envelope"]["warning"] is None
    until(lambda: [one["busy"] for one in daemon.plugin("gate")["workers"]] == [0])


def test_a_cancelled_write_warns_that_it_may_have_taken_effect(daemon: Daemon, tmp_path: Path) -> None:
    request_id = _running(daemon, "gate.write", tmp_path / "gate")
    daemon.delete(f"/v1/messages/{request_id}")
    envelope = daemon.story(request_id)[-1].data["envelope"]
    assert envelope["error"]["code"] == "cancelled"
    assert envelope["warning"] == "该操作可能已经生效。"


def test_who_waits_hears_of_the_cancelling(daemon: Daemon, tmp_path: Path) -> None:
    request_id = _running(daemon, "gate.read", tmp_path / "gate")
    with daemon.stream(f"/v1/messages/{request_id}/events") as stream:
        daemon.delete(f"/v1/messages/{request_id}")
        assert list(stream)[-1].data["envelope"]["error"]["code"] == "cancelled"
    assert daemon.record(request_id)["status"] == "failed"


@pytest.mark.parametrize("intent", ["gate.read", "lab.raise", "no.such.intent"])
def test_what_has_ended_cannot_be_cancelled(daemon: Daemon, intent: str) -> None:
    request_id = daemon.send(intent=intent)["request_id"]
    before = daemon.record(request_id)
    assert daemon.delete(f"/v1/messages/{request_id}").problem == (409, "conflict")
    assert daemon.record(request_id) == before


def test_a_call_that_waits_for_its_turn_can_be_cancelled_and_never_runs(
    daemon: Daemon, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    first = [daemon.accept(intent="gate.read", payload={"gate": str(gate)}) for _ in range(64)]
    until(lambda: all(daemon.runs(one) for one in first))
    waiting = daemon.accept(intent="gate.write", payload={"gate": str(gate)})
    assert daemon.plugin("gate")["queue_depth"] == 1
    daemon.delete(f"/v1/messages/{waiting}")
    envelope = daemon.story(waiting)[-1].data["envelope"]
    assert (envelope["error"]["code"], envelope["warning"]) == ("cancelled", None)
    gate.touch()
    assert {daemon.story(one)[-1].event for one in first} == {"TOOL_SUCCEEDED"}
    assert daemon.runs(waiting) == 0
