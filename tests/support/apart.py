"""Runs a scenario in a Python process of its own, for what changes the whole process: who is reaped, and by whom."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psutil
import uvloop

from tests.support.waiting import until

_ROOT = Path(__file__).parents[2]
_HERE = "import sys; from tests.support.apart import perform; perform(*sys.argv[1:])"

Scenario = Callable[[Path], Awaitable[Any]]


def apart(scenario: Scenario, folder: Path, **environ: str) -> Any:
    """Run an async function of a module on the daemon's kind of loop; return what it returns, which has a JSON form.

    It fails the test if it raises, and if a process that was started with it is still there afterwards.
    """
    done = subprocess.run(
        [sys.executable, "-c", _HERE, scenario.__module__, scenario.__name__, str(folder)],
        cwd=_ROOT,
        env=os.environ | {"APART": str(folder), "PYTHONDONTWRITEBYTECODE": "1", **environ},
        capture_output=True,
        text=True,
        timeout=40,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    until(lambda: not carriers("APART", str(folder)), seconds=5)
    return json.loads(done.stdout.splitlines()[-1])


def perform(module: str, name: str, folder: str) -> None:
    """Run a scenario in this process and print its result."""
    scenario: Scenario = getattr(importlib.import_module(module), name)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        result = runner.run(asyncio.wait_for(_result(scenario, Path(folder)), 30))
    sys.stdout.write(json.dumps(result) + "\n")


def carriers(variable: str, value: str) -> list[int]:
    """Return the processes that were started with this variable in their environment and have not ended."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(variable) == value and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except psutil.Error:  # it ended while we looked, or is not ours to look at
            continue
    return found


async def _result(scenario: Scenario, folder: Path) -> Any:
    return await scenario(folder)
