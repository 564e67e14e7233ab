"""A worker that uses more than its limits is told of once, with all that it has started counted, wherever that went."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from hermes.host.custody import processes
from hermes.host.custody.resources import Resources, SessionLimits
from tests.support.apart import apart
from tests.support.bench import eventually
from tests.support.workers import Workers, at_work, gone

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")

# What leaves its worker comes back to a child subreaper, and that is a whole process: each scenario runs in its own.


MANY = 60  # processes that a bomb of these tests may start


@asynccontextmanager
async def looking(folder: Path) -> AsyncIterator[tuple[Workers, Watch]]:
    """Give workers that are watched, and what was found on them."""
    async with at_work(folder) as workers:
        watch = Watch(workers)
        task = asyncio.create_task(watch.resources.run())
        try:
            yield workers, watch
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


class Watch:
    """Watches workers and ends those that use too much, as the daemon does; `reasons` are in the order they came."""

    def __init__(self, workers: Workers) -> None:
        self.resources = Resources(interval=0.02)
        self.reasons: list[str] = []
        self._workers = workers

    def watch(self, worker: Process, limits: SessionLimits) -> None:
        def on_over(reason: str) -> None:
            self.reasons.append(reason)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(worker.pid, signal.SIGKILL)

        self.resources.watch(worker.pid, limits, on_over=on_over)

    async def over(self, worker: Process) -> str:
        """Wait until a worker was ended for what it used, with all that it started, and return the reason."""
        reason = await eventually(lambda: self.reasons[-1] if self.reasons else "")
        self.resources.forget(worker.pid)
        assert await self._workers.end(worker) == -signal.SIGKILL
        return reason


async def bomb(folder: Path, one: str) -> str:
    """Run a worker that starts `one` again and again, until it is ended; return the reason, with nobody left of it."""
    script = f"n=0; while [ $n -lt {MANY} ]; do n=$((n+1)); {one} sleep 0.01; done; sleep 600"
    async with looking(folder) as (workers, watch):
        worker = await workers.start(script)
        watch.watch(worker, SessionLimits(processes=20))
        reason = await watch.over(worker)
        await eventually(lambda: processes.children(os.getpid()) == [])
        return reason


async def in_session(folder: Path) -> Any:
    return await bomb(folder, "sleep 600 &")


async def of_own_session(folder: Path) -> Any:
    return await bomb(folder, "setsid sleep 600 &")


async def let_go(folder: Path) -> Any:
    return await bomb(folder, "(sleep 600 &);")


async def escaped(folder: Path) -> Any:
    return await bomb(folder, "(setsid sleep 600 &);")


@pytest.mark.parametrize("kind", [in_session, of_own_session, let_go, escaped])
def test_a_process_bomb_is_ended_with_all_of_its_processes(tmp_path: Path, kind: Any) -> None:
    reason = apart(kind, tmp_path)
    words = reason.split()
    assert reason == f"ran {words[1]} processes, more than limits.processes 20"
    assert 20 < int(words[1]) <= MANY + 5


HOLD = """
cat > hold.py <<'END'
import os, sys, time
held = b"x" * (int(sys.argv[1]) << 20)
print(os.getpid(), file=open(sys.argv[2], "w"), flush=True)
time.sleep(600)
END
"""


def hold(megabytes: int, name: str) -> str:
    return f"{sys.executable} -I -S hold.py {megabytes} {name}"


async def memory(folder: Path) -> Any:
    script = f"{HOLD} {hold(40, 'a')} & (setsid {hold(40, 'b')} &); wait; sleep 600"
    async with looking(folder) as (workers, watch):
        worker = await workers.start(script)
        pids = [await workers.pid(name) for name in ("a", "b")]
        watch.watch(worker, SessionLimits(processes=20, memory_bytes=70 << 20))
        reason = await watch.over(worker)
        await eventually(lambda: gone(*pids))
        return reason


def test_memory_is_that_of_all_processes_together(tmp_path: Path) -> None:
    reason = apart(memory, tmp_path)
    words = reason.split()
    assert reason == f"used {words[1]} MB, more than limits.memory_mb 70"
    assert 80 <= int(words[1]) <= 160


async def within(folder: Path) -> Any:
    """Look at three that keep within their limits, at one that is forgotten, then at one that does not keep within."""
    async with looking(folder) as (workers, watch):
        scripts = [
            f"{HOLD} {hold(10, 'a')} & wait",
            "echo $$ > b; (setsid sleep 600 &); sleep 600",
            "echo $$ > c; sleep 600",
        ]
        limits = [SessionLimits(3, 60 << 20), SessionLimits(processes=3), SessionLimits()]
        for script, limit in zip(scripts, limits, strict=True):
            watch.watch(await workers.start(script), limit)
        for name in ("a", "b", "c"):
            await workers.pid(name)
        over = await workers.start("sleep 600 & echo $$ > d; wait")
        await workers.pid("d")
        watch.watch(over, SessionLimits(processes=1))
        watch.resources.forget(over.pid)
        last = await workers.start("sleep 600 & sleep 600 & echo $$ > e; wait")
        watch.watch(last, SessionLimits(processes=2))
        await watch.over(last)
        return watch.reasons


def test_those_within_their_limits_or_without_any_or_forgotten_are_not_told_of(tmp_path: Path) -> None:
    assert apart(within, tmp_path) == ["ran 3 processes, more than limits.processes 2"]


async def told_once(folder: Path) -> Any:
    """Two go over their limits; the first is told of and not ended."""
    reasons: list[str] = []
    async with looking(folder) as (workers, watch):
        first = await workers.start("sleep 600 & echo $$ > a; wait")
        await workers.pid("a")
        watch.resources.watch(first.pid, SessionLimits(processes=1), on_over=reasons.append)
        await eventually(lambda: reasons)
        for _ in range(3):
            watch.reasons.clear()
            worker = await workers.start("sleep 600 & sleep 600 & wait")
            watch.watch(worker, SessionLimits(processes=2))
            await watch.over(worker)
        return reasons


def test_a_worker_is_told_of_once(tmp_path: Path) -> None:
    assert apart(told_once, tmp_path) == ["ran 2 processes, more than limits.processes 1"]


async def elsewhere(folder: Path) -> Any:
    """What came to the daemon from a worker that nobody watches counts for none that is watched."""
    async with looking(folder) as (workers, watch):
        await workers.start("(setsid sleep 600 & echo $! > a); (sleep 600 & echo $! > b); sleep 600")
        for name in ("a", "b"):
            await workers.pid(name)
        alone = await workers.start("echo $$ > c; exec sleep 600")
        await workers.pid("c")
        watch.watch(alone, SessionLimits(processes=1))
        last = await workers.start(
            "(setsid sleep 600 &); (env -i /bin/sleep 600 &); echo $$ > d; exec sleep 600"
        )
        await workers.pid("d")
        watch.watch(last, SessionLimits(processes=2))
        await watch.over(last)
        return watch.reasons


def test_strays_count_for_the_worker_they_come_from(tmp_path: Path) -> None:
    assert apart(elsewhere, tmp_path) == ["ran 3 processes, more than limits.processes 2"]
