"""Very many calls that run out of time, of every kind of plugin: not one process, descriptor or place in a worker is lost."""

from __future__ import annotations

import os
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.conftest import StartDaemon
from tests.support.daemon import Daemon, write_plugin
from tests.support.strays import strays
from tests.support.survival import handling, printing, speaking
from tests.support.waiting import until

_SOAK = bool(os.environ.get("HERMES_SOAK"))
_CALLS = 500 if _SOAK else 40  # of each plugin that lets go of a call
_BLOCKED = 20 if _SOAK else 2  # of each that has to be killed, which takes a moment
_IN_RESERVE = (
    4  # descriptors (pipes, pidfd) of the worker that is kept in reserve, and may have come meanwhile
)
_TWO = "sleep 600 & sleep 600"
_APART = f"setsid sh -c '{_TWO}' & sleep 600"
LATE = {
    "waits": handling("await asyncio.sleep(600)"),
    "tidies-up": handling("try:\n    await asyncio.sleep(600)\nfinally:\n    await asyncio.sleep(0.01)"),
    "speaks": speaking("time.sleep(600)"),
    "prints": printing("time.sleep(600)"),
}
CROWDED = {
    "has-children": handling(f"subprocess.Popen(['sh', '-c', {_TWO!r}]); await asyncio.sleep(600)"),
    "has-children-apart": handling(f"subprocess.Popen(['sh', '-c', {_APART!r}]); await asyncio.sleep(600)"),
    "waits-for-children": handling(f"subprocess.run(['sh', '-c', {_TWO!r}])"),
    "waits-for-children-apart": handling(f"subprocess.run(['sh', '-c', {_APART!r}])"),
    "runs-children": printing(f"subprocess.run(['sh', '-c', {_TWO!r}])"),
    "runs-children-apart": printing(f"subprocess.run(['sh', '-c', {_APART!r}])"),
    "speaks-with-children": speaking(f"subprocess.run(['sh', '-c', {_APART!r}])"),
}


def prepare(start_daemon: StartDaemon, home: Path, plugins: dict[str, dict[str, Any]]) -> Daemon:
    """Start a daemon with plugins that work, and whose calls time out when they are told to do harm."""
    for name, plugin in plugins.items():
        write_plugin(home, name, timeout=0.3, **plugin)
    daemon = start_daemon({"circuit_breaker": {"failure_threshold": 10**6}})
    for name in plugins:
        assert well(daemon, name), name
    return daemon


def well(daemon: Daemon, name: str) -> bool:
    """Say whether a plugin works; starting it may take as long as a call may."""
    return bool(until(lambda: daemon.send(intent=name)["envelope"]["data"] == "well"))


def late(daemon: Daemon, name: str) -> str:
    """Have a call run out of time, and return the code it ends with."""
    return str(daemon.send(intent=name, payload={"harm": True})["envelope"]["error"]["code"])


def check(daemon: Daemon, names: list[str], *, descriptors: int) -> None:
    """See that the plugins work and that nothing of the calls is left."""
    assert all(well(daemon, name) for name in names)
    until(lambda: not strays(daemon))
    until(lambda: psutil.Process(daemon.pid).num_fds() <= descriptors + _IN_RESERVE)
    assert {worker["busy"] for name in names for worker in daemon.plugin(name)["workers"]} <= {0}
    daemon.stop()


@pytest.mark.timeout(1800 if _SOAK else 120)
def test_calls_that_time_out_by_the_hundred_leave_nothing_behind(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    daemon = prepare(start_daemon, tmp_path, LATE)
    descriptors = psutil.Process(daemon.pid).num_fds()
    calls = [name for name in LATE for _ in range(_BLOCKED if name == "speaks" else _CALLS)]
    with ThreadPoolExecutor(16) as hands:
        codes = Counter(hands.map(lambda name: late(daemon, name), calls))
    sys.stdout.write(f"{len(calls)} calls: {dict(codes)}\n")
    # A worker that has to be killed takes the other calls in it along, which are run again until they are late.
    assert codes.keys() <= {"plugin_timeout", "plugin_crashed"}
    assert codes["plugin_timeout"] >= len(calls) - _BLOCKED
    check(daemon, list(LATE), descriptors=descriptors)


@pytest.mark.timeout(1800 if _SOAK else 120)
def test_whatever_a_late_call_has_started_ends_with_it_also_in_a_session_of_its_own(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    daemon = prepare(start_daemon, tmp_path, CROWDED)
    descriptors = psutil.Process(daemon.pid).num_fds()
    for _ in range(_BLOCKED):
        with ThreadPoolExecutor(len(CROWDED)) as hands:
            codes = dict(zip(CROWDED, hands.map(lambda name: late(daemon, name), CROWDED), strict=True))
        assert codes == dict.fromkeys(CROWDED, "plugin_timeout")
        assert all(well(daemon, name) for name in CROWDED)  # else the pauses between its starts grow
    check(daemon, list(CROWDED), descriptors=descriptors)
