"""Workers for tests of what they leave behind: shell scripts that carry a mark, beside a sweep that runs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from hermes.host.custody import processes
from hermes.host.custody.orphans import Orphans
from tests.support.bench import eventually
from tests.support.logbook import Logbook


class Workers:
    """Starts scripts the way the daemon starts workers. `interval` is that of the sweeps, in seconds."""

    def __init__(self, folder: Path, book: Logbook, *, interval: float = 0.1) -> None:
        self.folder = folder
        self.book = book
        self.orphans = Orphans(str(folder), log=book.log, interval=interval)
        self._marks: dict[int, str] = {}

    async def start(self, script: str) -> Process:
        """Start a worker that runs `script`, which finds itself in the folder."""
        mark = self.orphans.new_mark()
        worker = await asyncio.create_subprocess_exec(
            *("/bin/sh", "-c", script),
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "APART": os.environ["APART"], processes.MARK: mark},
            stdin=DEVNULL,
            start_new_session=True,
        )
        self.orphans.enroll(worker.pid, mark)
        self._marks[worker.pid] = mark
        return worker

    async def end(self, worker: Process) -> int:
        """Wait for the end of a worker, end its process group as the daemon does, and return its exit code."""
        code = await worker.wait()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(worker.pid, signal.SIGKILL)
        self.orphans.ended(self._marks[worker.pid])
        return code

    async def pid(self, name: str) -> int:
        """Wait until a script has written a pid to the file of this name, and return it."""
        file = self.folder / name
        return int(await eventually(lambda: file.read_text().strip() if file.exists() else ""))

    def ended(self) -> list[str]:
        """Return the names of the orphans that the log tells of, sorted."""
        return sorted(line["command"] for line in self.book.lines(event="orphan_ended"))


@asynccontextmanager
async def at_work(folder: Path, *, interval: float = 0.1) -> AsyncIterator[Workers]:
    """Give workers whose orphans are swept; at the end everything is closed and nobody is left."""
    with Logbook() as book:
        workers = Workers(folder, book, interval=interval)
        await workers.orphans.open()
        sweeping = asyncio.create_task(workers.orphans.run())
        try:
            yield workers
        finally:
            sweeping.cancel()
            await asyncio.gather(sweeping, return_exceptions=True)
            await workers.orphans.close()
        await eventually(lambda: processes.children(os.getpid()) == [])
        assert book.lines(event="orphans_left") == book.lines(event="orphans_escape") == []


def gone(*pids: int) -> bool:
    """Say whether nothing is left of these processes, not even an entry that waits to be reaped."""
    return not any(processes.stat(pid) for pid in pids)
