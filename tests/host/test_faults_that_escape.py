"""What leaves its worker's session or turns on the daemon: only a real daemon answers for such processes."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.conftest import StartDaemon
from tests.support.daemon import Daemon, left_behind, write_plugin
from tests.support.strays import strays
from tests.support.survival import Plugin, handling, printing, speaking
from tests.support.waiting import until

BESIDE = "async def handle(message, context):\n    return message['payload']\n"
SLEEPS = 'subprocess.Popen(["sleep", "600"], start_new_session=True)\n'
HOLDS_ALL = """
if os.fork():
    os._exit(1)
os.setsid()
if os.fork():
    os._exit(0)
time.sleep(600)
"""
ESCAPES: dict[str, Plugin] = {
    "child-in-a-session-of-its-own": handling(SLEEPS + "os._exit(1)"),
    "fork-with-all-pipes": handling(HOLDS_ALL),
    "child-of-a-process": speaking(SLEEPS + "os._exit(1)"),
    "fork-of-a-process": speaking(HOLDS_ALL),
    "child-of-a-program": printing(SLEEPS + "os._exit(1)"),
    "fork-of-a-program": printing(HOLDS_ALL),
    "bomb": handling("for _ in range(40): " + SLEEPS + "await asyncio.sleep(600)", limits={"processes": 10}),
    "bomb-of-forks": printing(
        """
for _ in range(40):
    if not os.fork():
        os.setsid()
        if not os.fork():
            time.sleep(600)
        os._exit(0)
time.sleep(600)
""",
        limits={"processes": 10},
    ),
}


def test_whoever_leaves_the_session_of_a_worker_ends_with_it(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    write_plugin(tmp_path, "beside", BESIDE)
    for name, plugin in ESCAPES.items():
        once = [{"name": name, "writes": True, "confirm": False}]  # so that no call is run again
        write_plugin(tmp_path, name, intents=once, **plugin)
    daemon = start_daemon({"circuit_breaker": {"failure_threshold": 1000}})
    assert {name: well(daemon, name) for name in ESCAPES} == dict.fromkeys(ESCAPES, "well")
    descriptors = psutil.Process(daemon.pid).num_fds()
    sent = {name: daemon.accept(intent=name, payload={"harm": True}) for name in ESCAPES}
    for number in range(50):
        assert daemon.send(intent="beside", payload={"n": number})["envelope"]["data"] == {"n": number}
    until(lambda: all(code_of(daemon, one) for one in sent.values()))
    codes = {name: code_of(daemon, one) for name, one in sent.items()}
    assert set(codes.values()) == {"plugin_crashed", "plugin_error"}, codes
    assert {name: well(daemon, name) for name in ESCAPES} == dict.fromkeys(ESCAPES, "well")
    until(lambda: not strays(daemon))
    until(lambda: psutil.Process(daemon.pid).num_fds() <= descriptors)
    daemon.stop()


def well(daemon: Daemon, name: str) -> Any:
    envelope = daemon.send(intent=name)["envelope"]
    return envelope["data"] if envelope["error"] is None else envelope["error"]


def code_of(daemon: Daemon, request_id: str) -> str | None:
    envelope = daemon.record(request_id)["envelope"]
    return None if envelope is None else str((envelope["error"] or {}).get("code", "succeeded"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_plugin_that_tells_the_daemon_to_stop_has_it_stop_in_good_order(
    start_daemon: StartDaemon, tmp_path: Path, number: signal.Signals
) -> None:
    """A plugin runs as the same user, so that nothing can keep it from that; nothing is lost by it either."""
    write_plugin(tmp_path, "p", **handling(f"os.kill(os.getppid(), {number:d}); return 'told'"))
    daemon = start_daemon()
    sent = daemon.accept(intent="p", payload={"harm": True})
    assert daemon.process.wait(20) == 0
    assert left_behind(tmp_path) == []
    assert daemon.faults() == []
    again = start_daemon()
    assert again.record(sent)["envelope"]["data"] == "told"
    again.stop()
