"""Starts workers of any runtime for tests, and makes calls of them as the daemon would, without a daemon."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hermes.catalog import find
from hermes.config import Document
from hermes.host.custody import processes
from hermes.host.manifests.manifest_keys import RUNTIMES
from hermes.host.plugin import Places, Plugin, load_plugin
from hermes.host.runtimes.base import Runtime
from hermes.host.workers.exchange import Pending
from hermes.host.workers.worker import Worker
from hermes.host.workers.workshop import Workshop
from hermes.messages import HermesMessage, Principal


@dataclass(slots=True)
class Job:
    """One call: the lines of progress that it has told, and what it came to."""

    id: str
    pending: Pending
    progress: list[tuple[str, float | None]]

    async def result(self, seconds: float = 20) -> Any:
        """Return the result, or raise how it ended."""
        return await asyncio.wait_for(self.pending.answer, seconds)


@dataclass(slots=True)
class _Caller:
    """Who makes a call, and notes what it hears."""

    id: str
    progress: list[tuple[str, float | None]] = field(default_factory=list)
    left: int = 0

    def on_progress(self, text: str, percent: float | None, /) -> None:
        self.progress.append((text, percent))

    async def on_request(self, method: str, params: dict[str, Any], /) -> Any:
        raise AssertionError(f"nobody asks for {method} here: {params}")

    def on_left(self) -> None:
        self.left += 1


class Shop:
    """Plugins of one folder each, their workers, and what those say: `lines` are (level, text, call)."""

    def __init__(
        self, home: Path, *, environ: Mapping[str, str] | None = None, frame_bytes: int = 1 << 20
    ) -> None:
        self.home = home
        self.environ = dict(os.environ if environ is None else environ)
        self.frame_bytes = frame_bytes
        self.config: dict[str, Any] = {}
        self.lines: list[tuple[str, str, str | None]] = []
        self.idle = 0
        self.exits: list[str] = []
        self._numbers = itertools.count(1)
        self._before = set(processes.children(os.getpid()))  # of other tests' daemons and services
        self._workers: list[Worker] = []

    def write(self, files: Mapping[str, str], **manifest: Any) -> Path:
        """Write a plugin `p` of one intent `p`; files that begin with #! are made executable."""
        folder = self.home / "p"
        folder.mkdir(exist_ok=True)
        for name, content in files.items():
            (folder / name).write_text(content, encoding="utf-8")
            if content.startswith("#!"):
                (folder / name).chmod(0o755)
        whole = {"name": "p", "intents": ["p"], **manifest}
        (folder / "manifest.json").write_text(json.dumps(whole, ensure_ascii=False), encoding="utf-8")
        return folder

    def load(self) -> Plugin:
        """Read the plugin."""
        places = Places(
            plugins_dir=self.home,
            state_dir=self.home / "state",
            base_dir=self.home,
            configs={"p": self.config},
            environment=self.environ,
            source=Document(),
        )
        return load_plugin(self.home / "p", places)

    async def open(self) -> Worker:
        """Start a worker of the plugin."""
        plugin = self.load()
        runtime: Runtime = find(RUNTIMES, plugin.manifest.runtime)()
        worker = await runtime.start(plugin, Workshop(self, self.frame_bytes))
        self._workers.append(worker)
        return worker

    def begin(self, worker: Worker, payload: Mapping[str, Any] | None = None, **context: Any) -> Job:
        """Begin a call; `context` are members of the call's context beside those of every call."""
        number = next(self._numbers)
        caller = _Caller(f"c{number}")
        message = HermesMessage(f"r{number}", "s1", "p", dict(payload or {}), "api", 1.5)
        told = {
            "session": {},
            "principal": Principal(),
            "idempotency_key": f"k{number}",
            "locale": "en",
            "deadline_ms": 20_000,
        }
        worker.busy += 1  # as the pool counts the place that it gives
        params = {"call": caller.id, "message": message, "context": told | context}
        return Job(caller.id, worker.call(caller, params), caller.progress)

    async def ask(self, worker: Worker, payload: Mapping[str, Any] | None = None, **context: Any) -> Any:
        """Make a call and return its result."""
        return await self.begin(worker, payload, **context).result()

    async def close(self) -> None:
        """End all workers, and see that no process of theirs is left."""
        for worker in self._workers:
            worker.kill()
        await asyncio.gather(*(worker.exited.wait() for worker in self._workers))
        left = set(processes.children(os.getpid())) - self._before
        assert not left, "processes are left"

    # What a worker tells.

    def on_log(self, _worker: Worker, text: str, *, level: str, call: str | None) -> None:
        self.lines.append((level, text, call))

    def on_idle(self, _worker: Worker) -> None:
        self.idle += 1

    def on_exit(self, _worker: Worker, reason: str) -> None:
        self.exits.append(reason)
