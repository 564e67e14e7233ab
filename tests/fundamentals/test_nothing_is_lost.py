"""Whoever was told that a message is accepted finds its end; whoever cannot be told so is told to come back."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.conftest import StartDaemon
from tests.support.client import Answer
from tests.support.daemon import Daemon
from tests.support.waiting import until


def accepted(answers: list[Answer], *, otherwise: tuple[int, str]) -> list[str]:
    """Return the request_ids that were accepted; all else was refused in one way, with a time to come back after."""
    for answer in answers:
        if answer.status != 202:
            assert answer.problem == otherwise
            assert int(answer.headers["retry-after"]) > 0
    return [answer.json["request_id"] for answer in answers if answer.status == 202]


def test_what_is_sent_while_hermes_stops_is_refused_or_runs_after_the_next_start(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    daemon = start_daemon(plugins=["gate"])
    held = daemon.accept(intent="gate.write", payload={"gate": str(gate)})
    until(lambda: daemon.runs(held))

    def send(number: int) -> Answer:
        if number == 20:
            daemon.process.send_signal(signal.SIGTERM)
        return daemon.post("/v1/messages", {"intent": "gate.write", "payload": {"name": number}})

    with ThreadPoolExecutor(8) as hands:
        answers = list(hands.map(send, range(200)))
    kept = accepted(answers, otherwise=(503, "unavailable"))
    assert 12 <= len(kept) < 200
    gate.touch()
    assert daemon.process.wait(20) == 0
    again = start_daemon()
    for request_id in (held, *kept):
        assert again.story(request_id)[-1].event == "TOOL_SUCCEEDED"
        assert again.runs(request_id) == 1
    assert len(again.get("/v1/messages?limit=500").json["items"]) == len(kept) + 1


def test_of_more_than_there_is_room_for_the_rest_is_refused_and_counted_and_what_was_taken_runs(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    daemon = start_daemon({"limits": {"pending": 10}}, plugins=["gate"])
    body = {"intent": "gate.write", "payload": {"gate": str(gate)}}
    with ThreadPoolExecutor(8) as hands:
        answers = list(hands.map(lambda _: daemon.post("/v1/messages", body), range(100)))
    kept = accepted(answers, otherwise=(429, "rate_limited"))
    assert len(kept) == 10
    assert b'hermes_messages_refused_total{code="rate_limited"} 90.0' in daemon.get("/metrics").body
    gate.touch()
    assert {daemon.story(request_id)[-1].event for request_id in kept} == {"TOOL_SUCCEEDED"}
    assert {daemon.runs(request_id) for request_id in kept} == {1}


def test_a_call_whose_process_is_killed_from_outside_ends_at_once_for_everybody(
    daemon: Daemon, tmp_path: Path
) -> None:
    with daemon.post_stream({"intent": "gate.write", "payload": {"gate": str(tmp_path / "gate")}}) as stream:
        request_id = stream.until("PROGRESS")[-1].data["request_id"]
        (worker,) = [worker for worker in daemon.plugin("gate")["workers"] if worker["busy"]]
        os.kill(worker["pid"], signal.SIGKILL)
        last = list(stream)[-1]
    assert (last.event, last.data["envelope"]["error"]["code"]) == ("TOOL_FAILED", "plugin_crashed")
    assert daemon.record(request_id)["status"] == "failed"


def test_who_listened_to_everything_goes_on_after_a_restart_and_is_told_of_the_gap(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    daemon = start_daemon({"limits": {"shutdown_grace": 0.2}}, plugins=["gate"])
    with daemon.stream("/v1/events") as stream:
        read = daemon.accept(intent="gate.read", payload={"gate": str(gate)})
        seen = stream.until("PROGRESS")
        daemon.process.send_signal(signal.SIGTERM)
        assert [(frame.event, frame.data) for frame in stream] == [("stream", {"reason": "shutdown"})]
    assert daemon.process.wait(20) == 0
    gate.touch()
    again = start_daemon()
    with again.stream("/v1/events", last_event_id=str(seen[-1].id)) as stream:
        gap, *missed = stream.until("TOOL_SUCCEEDED")
    assert (gap.event, gap.data) == ("stream", {"reason": "gap"})
    assert [(frame.event, frame.data["request_id"]) for frame in missed] == [
        ("TOOL_STARTED", read),
        ("PROGRESS", read),
        ("TOOL_SUCCEEDED", read),
    ]
