"""When the wall clock jumps, dates jump with it and nothing else: no call ends early, none hangs, nothing is told twice."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import StartDaemon
from tests.support.clock import WallClock
from tests.support.daemon import Daemon, write_plugin
from tests.support.saving import answer, make, nth_reload, says
from tests.support.waiting import until

HOURS = 7200
CONFIG: dict[str, dict[str, Any]] = {
    "circuit_breaker": {"failure_threshold": 1, "cooldown_seconds": 1},
    "reload": {"sweep": 3600, "debounce": 0.1},
}
LATE = "import asyncio\nasync def handle(message, context):\n    await asyncio.sleep(message['payload'].get('seconds', 0))\n"


@pytest.fixture
def clock(tmp_path: Path) -> WallClock:
    return WallClock(tmp_path)


def start(start_daemon: StartDaemon, home: Path, clock: WallClock) -> Daemon:
    make(home)
    write_plugin(home, "late", LATE, timeout=0.3)
    daemon = start_daemon(CONFIG, plugins=["gate"], environ=clock.environ)
    assert answer(daemon) == "one"
    assert daemon.send(intent="late")["status"] == "succeeded"
    return daemon


def off(seconds: float) -> float:
    """Return by how much a time is ahead of the right one."""
    return seconds - time.time()


def code(record: dict[str, Any]) -> str | None:
    error = record["envelope"]["error"]
    return None if error is None else str(error["code"])


@pytest.mark.parametrize("ahead", [-HOURS, HOURS])
def test_time_outs_pauses_and_reloads_take_as_long_as_ever(
    start_daemon: StartDaemon, tmp_path: Path, clock: WallClock, ahead: int
) -> None:
    daemon = start(start_daemon, tmp_path, clock)
    gate = tmp_path / "gate"
    held = daemon.accept(intent="gate.read", payload={"gate": str(gate)})
    until(lambda: daemon.runs(held))
    late = daemon.accept(intent="late", payload={"seconds": 600})
    clock.step(ahead)
    assert code(until(lambda: one if (one := daemon.record(late))["envelope"] else None)) == "plugin_timeout"
    assert code(daemon.send(intent="late")) == "plugin_unavailable"
    breaker = daemon.plugin("late")["breaker"]
    assert breaker["state"] == "half_open" or abs(off(breaker["retry_at"]) - ahead) < 60
    until(lambda: code(daemon.send(intent="late")) is None)
    clock.step(-ahead)  # and back over the right time
    assert code(daemon.send(intent="late", payload={"seconds": 600})) == "plugin_timeout"
    until(lambda: code(daemon.send(intent="late")) is None)
    (tmp_path / "plugins" / "p" / "plugin.py").write_text(says("two"))
    nth_reload(daemon, 1)
    assert answer(daemon) == "two"
    assert daemon.record(held)["status"] == "running"
    gate.touch()
    assert until(lambda: daemon.record(held)["status"] == "succeeded")
    daemon.stop()


@pytest.mark.parametrize("ahead", [-HOURS, HOURS])
def test_only_dates_show_the_jump_and_the_order_of_things_stays(
    start_daemon: StartDaemon, tmp_path: Path, clock: WallClock, ahead: int
) -> None:
    daemon = start(start_daemon, tmp_path, clock)
    with daemon.stream("/v1/events") as stream:
        before = [daemon.send(intent="p")["request_id"] for _ in range(3)]
        seen = [stream.next() for _ in range(9)]
        gate = tmp_path / "gate"
        held = daemon.accept(intent="gate.read", payload={"gate": str(gate)})
        until(lambda: daemon.runs(held))
        clock.step(ahead)
        after = [daemon.send(intent="p") for _ in range(3)]
        gate.touch()
        rest = stream.until("TOOL_SUCCEEDED")
    assert [abs(off(record["received_at"]) - ahead) < 60 for record in after] == [True] * 3
    ids = [record["request_id"] for record in after]
    listed = [item["request_id"] for item in daemon.get("/v1/messages?limit=7").json["items"]]
    assert listed == [*reversed(ids), held, *reversed(before)]
    with daemon.stream("/v1/events", last_event_id=str(seen[-1].id)) as stream:
        again = [stream.next() for _ in rest]
    assert [(one.id, one.data["seq"]) for one in again] == [(one.id, one.data["seq"]) for one in rest]
    story = daemon.story(held)
    assert [frame.data["seq"] for frame in story] == list(range(1, len(story) + 1))
    until(lambda: daemon.record(held)["status"] == "succeeded")
    daemon.stop()
    again_started = start_daemon(environ=clock.environ)
    assert [item["request_id"] for item in again_started.get("/v1/messages?limit=7").json["items"]] == listed
    assert answer(again_started) == "one"
