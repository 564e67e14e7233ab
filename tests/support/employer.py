"""Workers of any kind for tests: a script that speaks the plugin wire as well or as badly as the test wants."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hermes.host.workers.calls import Call
from hermes.host.workers.exchange import Pending
from hermes.host.workers.wire_worker import Launch, WireWorker
from hermes.host.workers.worker import Worker
from hermes.messages import HermesMessage

SPEAK = """
import json, os, subprocess, sys, time
os.closerange(3, 1024)  # copies that the event loop leaves to its children

def say(**frame):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **frame}) + "\\n")
    sys.stdout.flush()

def hear():
    line = sys.stdin.readline()
    return json.loads(line) if line else sys.exit()
"""
"""What the scripts begin with: `say(**frame)` and `hear()`, which leaves at the end of stdin."""


class Employer:
    """Starts workers and listens to them: `lines` are (level, text, call), `exits` the reasons of those that ended."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines: list[tuple[str, str, str | None]] = []
        self.idle = 0
        self.exits: list[str] = []
        self._workers: list[WireWorker] = []

    async def hire(
        self, script: str, *, frame_bytes: int = 1 << 20, environment: Mapping[str, str] | None = None
    ) -> WireWorker:
        """Start a worker that runs `script`, which finds SPEAK before it."""
        launch = Launch((sys.executable, "-c", SPEAK + script), environment or {}, self.folder, frame_bytes)
        worker = await WireWorker.start(launch, self)
        self._workers.append(worker)
        return worker

    def call(
        self, worker: WireWorker, name: str = "c1", **params: Any
    ) -> tuple[Pending, list[tuple[str, float | None]]]:
        """Begin a call; return it and the list that its progress goes to."""
        told: list[tuple[str, float | None]] = []
        worker.busy += 1  # as the pool counts the place that it gives
        caller = self.caller(name, on_progress=lambda text, percent: told.append((text, percent)))
        return worker.call(caller, {"call": name, **params}), told

    def caller(self, name: str, *, on_progress: Callable[[str, float | None], None]) -> Call:
        """Return who makes a call of that name and wants to hear its progress."""
        message = HermesMessage(name, "s1", "any", {}, "api", 0.0)
        return Call(name, message, {}, 20, _start, on_progress)

    async def dismiss(self) -> None:
        """End all workers."""
        for worker in self._workers:
            worker.kill()
        await asyncio.gather(*(worker.exited.wait() for worker in self._workers))

    # What a worker tells.

    def on_log(self, _worker: Worker, text: str, *, level: str, call: str | None) -> None:
        self.lines.append((level, text, call))

    def on_idle(self, _worker: Worker) -> None:
        self.idle += 1

    def on_exit(self, _worker: Worker, reason: str) -> None:
        self.exits.append(reason)


async def _start() -> None:
    """Nothing has to be made safe first."""
