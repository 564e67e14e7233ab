"""While a call takes its time, and even while it blocks its process, everybody else is answered and every order is carried out."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.conftest import StartDaemon
from tests.support.daemon import Daemon, left_behind, write_plugin
from tests.support.saving import answer, make, says
from tests.support.waiting import until

SLOW = """
import asyncio, ctypes, os, time
from pathlib import Path

async def handle(message, context):
    how = message["payload"].get("how")
    (Path(context["data_dir"]) / "began").touch()
    if how == "sleeps":
        await asyncio.sleep(600)
    if how == "blocks":
        time.sleep(600)
    if how == "loops":
        while True:
            pass
    if how == "holds the lock":
        ctypes.PyDLL(None).sleep(600)
    return os.getpid()
"""
BLOCKING = ("loops", "holds the lock")


def begin(daemon: Daemon, how: str, **members: str) -> str:
    """Have the slow plugin begin a call that has no end, and return its request_id."""
    began = daemon.state_dir / "plugins" / "slow" / "began"
    began.unlink(missing_ok=True)
    request_id = daemon.accept(intent="slow", payload={"how": how}, **members)
    until(began.exists)
    return request_id


def start(start_daemon: StartDaemon, home: Path) -> Daemon:
    write_plugin(home, "slow", SLOW, timeout=600)
    for name in ("one", "two"):
        make(home, name, name)
    return start_daemon({"limits": {"shutdown_grace": 0.2}})


@pytest.mark.parametrize("how", BLOCKING)
def test_a_plugin_that_blocks_holds_up_nobody_and_is_ended_when_it_is_cancelled(
    start_daemon: StartDaemon, tmp_path: Path, how: str
) -> None:
    daemon = start(start_daemon, tmp_path)
    pid = answer(daemon, "slow")
    with daemon.stream("/v1/events") as stream:
        request_id = begin(daemon, how)
        for _ in range(10):
            assert [answer(daemon, name) for name in ("one", "two")] == ["one", "two"]
        for path in ("/healthz", "/readyz", "/metrics", "/v1/plugins", f"/v1/messages/{request_id}"):
            assert daemon.get(path).status == 200
        assert daemon.post("/v1/route", {"text": "one"}).status == 200
        assert [frame.event for frame in stream.until("TOOL_SUCCEEDED")][-1] == "TOOL_SUCCEEDED"
        assert daemon.record(request_id)["status"] == "running"
    assert daemon.delete(f"/v1/messages/{request_id}").status == 202
    assert until(lambda: daemon.record(request_id)["envelope"])["error"]["code"] == "cancelled"
    assert daemon.line(event="worker_stuck", plugin="slow")["pid"] == pid
    assert answer(daemon, "slow") != pid


def test_messages_of_the_same_and_of_other_conversations_are_answered_meanwhile(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    """This version takes the messages of one conversation side by side."""
    daemon = start(start_daemon, tmp_path)
    slow = begin(daemon, "sleeps", session_id="s-1")
    for number in range(10):
        for session in ("s-1", f"s-{number + 2}"):
            record = daemon.send(intent="one", session_id=session)
            assert (record["envelope"]["data"], record["session_id"]) == ("one", session)
    assert daemon.record(slow)["status"] == "running"


@pytest.mark.parametrize("how", ["sleeps", "blocks"])
def test_every_order_is_carried_out_while_a_call_runs(
    start_daemon: StartDaemon, tmp_path: Path, how: str
) -> None:
    daemon = start(start_daemon, tmp_path)
    pid = answer(daemon, "slow")
    request_id = begin(daemon, how)
    (worker,) = daemon.plugin("slow")["workers"]
    assert (worker["pid"], worker["busy"]) == (pid, 1)

    answered = daemon.post("/v1/plugins/slow/reload", None)
    assert (answered.status, answered.json["state"], answered.json["reloads"]) == (200, "ready", 1)
    newer = answer(daemon, "slow")
    assert newer != pid
    assert {one["pid"]: one["busy"] for one in daemon.plugin("slow")["workers"]} == {pid: 1, newer: 0}

    (tmp_path / "plugins" / "slow" / "plugin.py").write_text(says("saved"))
    until(lambda: daemon.plugin("slow")["reloads"] == 2)
    assert answer(daemon, "slow") == "saved"

    answered = daemon.post("/v1/plugins/slow/disable", None)
    assert (answered.status, answered.json["state"]) == (200, "disabled")
    assert daemon.send(intent="slow")["envelope"]["error"]["code"] == "plugin_unavailable"
    assert daemon.record(request_id)["status"] == "running"

    answered = daemon.post("/v1/plugins/slow/enable", None)
    assert (answered.status, answered.json["state"]) == (200, "ready")
    assert (answer(daemon, "slow"), daemon.record(request_id)["status"]) == ("saved", "running")

    assert daemon.delete(f"/v1/messages/{request_id}").status == 202
    assert until(lambda: daemon.record(request_id)["envelope"])["error"]["code"] == "cancelled"
    until(lambda: pid not in [one["pid"] for one in daemon.plugin("slow")["workers"]])
    until(lambda: len(list((daemon.state_dir / "staged" / "slow").iterdir())) == 1)


@pytest.mark.parametrize("how", ["sleeps", "loops"])
def test_a_call_that_does_not_end_does_not_keep_hermes_from_stopping(
    start_daemon: StartDaemon, tmp_path: Path, how: str
) -> None:
    daemon = start(start_daemon, tmp_path)
    request_id = begin(daemon, how)
    daemon.process.send_signal(signal.SIGTERM)
    assert daemon.process.wait(20) == 0
    assert (left_behind(tmp_path), daemon.faults()) == ([], [])
    again = start_daemon()
    assert (again.record(request_id)["status"], again.record(request_id)["attempts"] >= 1) == (
        "running",
        True,
    )
    assert again.delete(f"/v1/messages/{request_id}").status == 202
