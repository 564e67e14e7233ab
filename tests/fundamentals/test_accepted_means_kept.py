"""What was accepted survives the sudden end of Hermes and ends exactly once, by the next start at the latest."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import StartDaemon
from tests.support.daemon import Daemon
from tests.support.waiting import until


def _endings(daemon: Daemon, request_id: str) -> list[str]:
    return [
        frame.event for frame in daemon.story(request_id) if frame.event in {"TOOL_SUCCEEDED", "TOOL_FAILED"}
    ]


def _wait_for_run(daemon: Daemon, request_id: str, number: int) -> None:
    until(lambda: daemon.runs(request_id) == number)


def test_what_was_running_or_waiting_when_hermes_died_ends_after_the_next_start(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    daemon = start_daemon(plugins=["gate", "lab"])
    done = daemon.send(intent="gate.write", payload={"name": "已完成"})
    read, write, repeat = (
        daemon.accept(intent=intent, payload={"gate": str(gate), "name": "进行中"})
        for intent in ("gate.read", "gate.write", "gate.repeat")
    )
    until(lambda: all(daemon.runs(one) for one in (read, write, repeat)))
    crowd = [daemon.accept(intent="gate.read", payload={"gate": str(gate)}) for _ in range(70)]
    until(lambda: daemon.plugin("gate")["queue_depth"])
    daemon.kill()

    gate.touch()
    again = start_daemon()
    assert again.line(event="listening")["recovered"] == 3 + len(crowd)
    for request_id in (read, repeat, *crowd):
        assert _endings(again, request_id) == ["TOOL_SUCCEEDED"]
    assert _endings(again, write) == ["TOOL_FAILED"]
    envelope = again.record(write)["envelope"]
    assert envelope["error"]["code"] == "interrupted"
    assert envelope["warning"] == "该操作可能已经生效。"
    assert (again.runs(read), again.runs(write), again.runs(repeat)) == (2, 1, 2)
    assert again.record(done["request_id"]) == done
    assert again.runs(done["request_id"]) == 1
    assert again.get("/v1/messages?status=accepted").json["items"] == []


@pytest.mark.parametrize("sync", ["full", "normal"])
def test_messages_that_were_accepted_just_before_hermes_was_killed_all_end_once(
    start_daemon: StartDaemon, sync: str
) -> None:
    daemon = start_daemon({"journal": {"sync": sync}}, plugins=["gate"])
    accepted = [daemon.accept(intent="gate.read", payload={"name": number}) for number in range(30)]
    daemon.kill()
    again = start_daemon()
    for number, request_id in enumerate(accepted):
        assert _endings(again, request_id) == ["TOOL_SUCCEEDED"]
        assert again.record(request_id)["envelope"]["data"] == {"passed": number}


def test_a_call_that_is_run_again_after_a_restart_counts_its_attempts(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    """Three attempts in all, whether the worker or the daemon died."""
    gate = tmp_path / "gate"
    daemon = start_daemon({"limits": {"shutdown_grace": 0.1}}, plugins=["gate"])
    request_id = daemon.accept(intent="gate.read", payload={"gate": str(gate)})
    for attempt in (1, 2, 3):
        _wait_for_run(daemon, request_id, attempt)
        assert daemon.record(request_id)["attempts"] == attempt
        daemon.kill()
        daemon = start_daemon()
    envelope = daemon.story(request_id)[-1].data["envelope"]
    assert envelope["error"]["code"] == "plugin_crashed"
    assert daemon.runs(request_id) == 3


def test_a_payload_as_deep_as_can_be_kept_survives_a_restart(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    deep: list[object] = []
    for _ in range(230):
        deep = [deep]
    daemon = start_daemon(plugins=["gate"])
    request_id = daemon.accept(intent="gate.read", payload={"gate": str(gate), "name": deep})
    until(lambda: daemon.runs(request_id))
    daemon.kill()
    gate.touch()
    again = start_daemon()
    assert again.story(request_id)[-1].data["envelope"]["data"] == {"passed": deep}
    assert again.story(request_id)[-1].data["envelope"]["data"] == {"passed": deep}, "from the journal too"


def test_who_listened_before_a_kill_misses_nothing_that_came_after_it(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    """The story goes on under its own beginning; an id from before the kill is good for resuming."""
    gate = tmp_path / "gate"
    daemon = start_daemon(plugins=["gate"])
    read, write = (
        daemon.accept(intent=intent, payload={"gate": str(gate)}) for intent in ("gate.read", "gate.write")
    )
    until(lambda: daemon.runs(read) and daemon.runs(write))
    with daemon.stream(f"/v1/messages/{read}/events") as stream:
        seen = stream.until("PROGRESS")
    daemon.kill()
    gate.touch()
    again = start_daemon()
    _endings(again, read), _endings(again, write)
    late = again.story(read, last_event_id=str(seen[-1].id))
    assert [frame.event for frame in late] == ["TOOL_STARTED", "PROGRESS", "TOOL_SUCCEEDED"]
    assert late[0].data["attempt"] == 2
    whole = again.story(read)
    assert [frame.event for frame in whole] == ["TASK_RECEIVED", *(frame.event for frame in late)]
    assert [frame.data["seq"] for frame in whole] == [1, 2, 3, 4]
    assert again.record(read)["received_at"] - 2e-6 <= whole[0].data["timestamp"] <= seen[0].data["timestamp"]
    assert [frame.event for frame in again.story(write, last_event_id=str(seen[-1].id))] == ["TOOL_FAILED"]


def test_a_repetition_after_the_restart_still_runs_nothing(start_daemon: StartDaemon) -> None:
    daemon = start_daemon(plugins=["gate"])
    body = {"intent": "gate.write", "request_id": "order-1", "payload": {"name": "订单"}}
    first = daemon.post("/v1/messages?wait=20", body)
    daemon.kill()
    again = start_daemon()
    repeated = again.post("/v1/messages?wait=20", body)
    assert repeated.headers["idempotent-replayed"] == "true"
    assert repeated.json == first.json
    assert again.post("/v1/messages", body | {"payload": {}}).problem == (409, "conflict")
    assert again.runs("order-1") == 1


def test_a_message_whose_tool_is_gone_after_the_restart_ends_too(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    daemon = start_daemon(plugins=["gate"])
    read, write = (
        daemon.accept(intent=intent, payload={"gate": str(tmp_path / "gate")})
        for intent in ("gate.read", "gate.write")
    )
    until(lambda: daemon.runs(read) and daemon.runs(write))
    daemon.kill()
    (tmp_path / "plugins" / "gate").unlink()
    again = start_daemon()
    ends = [again.story(one)[-1].data["envelope"] for one in (read, write)]
    assert [end["error"]["code"] for end in ends] == ["interrupted", "interrupted"], (
        "nobody knows any more what it did"
    )
    assert all("may have taken effect" in end["warning"] for end in ends)
