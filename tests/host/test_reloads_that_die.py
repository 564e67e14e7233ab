"""Candidates that end while they are started, by whose hand ever: the version before serves, and the next save works."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.support.bench import Bench, eventually, file_text
from tests.support.saving import says

WAITS = """
import os, pathlib, time
home = pathlib.Path({home!r})
(home / "pid.part").write_text(str(os.getpid()))
(home / "pid.part").rename(home / "pid")
while not (home / "go").exists():
    time.sleep(0.01)
"""


async def start(bench: Bench) -> Path:
    folder = bench.write("p", says("old"))
    bench.start()
    assert await bench.run("p") == "old"
    return folder


async def kill_candidate(bench: Bench) -> None:
    assert bench.host is not None
    await bench.host.look()
    pid = int(await file_text(bench.home / "pid"))
    (bench.home / "pid").unlink()
    os.kill(pid, signal.SIGKILL)
    await bench.host.settle()


async def test_a_candidate_that_is_killed_while_it_is_started_is_a_failed_load_with_its_reason(
    bench: Bench,
) -> None:
    folder = await start(bench)
    (folder / "plugin.py").write_text(WAITS.format(home=str(bench.home)) + says("new"))
    await kill_candidate(bench)
    assert await bench.run("p") == "old"
    error = bench.plugin("p")["last_error"]
    assert "ended with signal SIGKILL" in error.message
    assert "something outside of the plugin ended it" in error.message
    assert bench.metric("hermes_reloads_total", plugin="p", result="failed") == 1
    assert bench.metric("hermes_worker_restarts_total", plugin="p", reason="crash") == 0
    (folder / "plugin.py").write_text(says("next"))
    await bench.look()
    assert await bench.run("p") == "next"
    assert (bench.plugin("p")["reloads"], bench.plugin("p")["last_error"]) == (1, None)


async def test_what_was_killed_from_outside_is_tried_again_unchanged_and_not_for_ever(bench: Bench) -> None:
    folder = await start(bench)
    (folder / "plugin.py").write_text(WAITS.format(home=str(bench.home)) + says("new"))
    for _ in range(4):
        await kill_candidate(bench)
    await bench.look()
    assert not (bench.home / "pid").exists()
    assert await bench.run("p") == "old"
    (bench.home / "go").touch()
    assert bench.host is not None
    await bench.host.reload("p")
    assert await bench.run("p") == "new"


async def test_one_that_waits_is_served_by_the_version_after_it_was_killed_once(bench: Bench) -> None:
    folder = await start(bench)
    (folder / "plugin.py").write_text(WAITS.format(home=str(bench.home)) + says("new"))
    await kill_candidate(bench)
    (bench.home / "go").touch()
    await bench.look()
    assert await bench.run("p") == "new"


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("os._exit(7)", "exit code 7"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "signal SIGSEGV"),
        ("os.close(1)", "closed its stdout"),
    ],
)
async def test_a_candidate_that_is_ready_and_ends_at_once_does_not_take_over(
    bench: Bench, how: str, reason: str
) -> None:
    folder = await start(bench)
    code = f"""
import json, os, signal, sys
line = sys.stdin.readline()
print(json.dumps({{"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": {{"protocol": 1}}}}), flush=True)
{how}
sys.stdin.read()
"""
    (folder / "worker.py").write_text(code)
    manifest = '{"name": "p", "intents": ["p"], "runtime": "process", "command": ["python3", "worker.py"]}'
    (folder / "manifest.json").write_text(manifest)
    await bench.look()
    assert await bench.run("p") == "old"
    assert reason in bench.plugin("p")["last_error"].message
    assert bench.plugin("p")["reloads"] == 0
    await eventually(lambda: len(bench.plugin("p")["workers"]) == 1)
