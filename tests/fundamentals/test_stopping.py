"""Hermes ends in order: streams first, running calls get their time, what cannot end is left to the next start."""

from __future__ import annotations

import signal
import socket
from pathlib import Path

from tests.conftest import StartDaemon
from tests.support.daemon import left_behind
from tests.support.waiting import until


def test_streams_are_ended_first_and_running_calls_may_finish(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    daemon = start_daemon(plugins=["gate"])
    request_id = daemon.accept(intent="gate.write", payload={"gate": str(gate)})
    until(lambda: daemon.runs(request_id))
    with daemon.stream("/v1/events") as everything, daemon.stream(f"/v1/messages/{request_id}/events") as one:
        one.until("PROGRESS")
        daemon.process.send_signal(signal.SIGTERM)
        for stream in (everything, one):
            (last,) = list(stream)
            assert (last.id, last.event, last.data) == (None, "stream", {"reason": "shutdown"})
    refused = daemon.post("/v1/messages", {"intent": "gate.read"})
    assert refused.problem == (503, "unavailable")
    assert int(refused.headers["retry-after"]) > 0
    assert daemon.get("/readyz").status == 503
    gate.touch()
    assert daemon.process.wait(20) == 0
    assert left_behind(daemon.home) == []
    again = start_daemon()
    assert again.record(request_id)["status"] == "succeeded"
    assert again.line(event="listening")["recovered"] == 0


def test_what_does_not_end_within_the_grace_is_left_to_the_next_start(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    daemon = start_daemon({"limits": {"shutdown_grace": 0.2}}, plugins=["gate"])
    read, write = (
        daemon.accept(intent=name, payload={"gate": str(gate)}) for name in ("gate.read", "gate.write")
    )
    until(lambda: daemon.runs(read) and daemon.runs(write))
    daemon.stop()
    gate.touch()
    again = start_daemon()
    assert again.story(read)[-1].event == "TOOL_SUCCEEDED"
    assert again.story(write)[-1].data["envelope"]["error"]["code"] == "interrupted"


def test_a_second_signal_ends_the_patience(start_daemon: StartDaemon, tmp_path: Path) -> None:
    daemon = start_daemon({"limits": {"shutdown_grace": 3600}}, plugins=["gate"])
    request_id = daemon.accept(intent="gate.read", payload={"gate": str(tmp_path / "gate")})
    until(lambda: daemon.runs(request_id))
    daemon.process.send_signal(signal.SIGINT)
    daemon.line(event="stopping")
    daemon.stop()
    assert len(daemon.lines(event="signal")) == 2


def test_hermes_can_be_stopped_while_its_workers_still_start(start_daemon: StartDaemon) -> None:
    start_daemon(plugins=["lab", "gate", "deploy", "fragile", "stuck"]).stop()


def test_an_idle_connection_does_not_hold_hermes_up(start_daemon: StartDaemon) -> None:
    daemon = start_daemon()
    with socket.create_connection((daemon.host, daemon.port), timeout=20) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        daemon.stop()
