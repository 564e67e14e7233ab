"""What is alive or the event loop's own is left alone, however often it is swept."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hermes.host.custody import processes
from tests.support.apart import apart
from tests.support.bench import eventually
from tests.support.workers import at_work, gone

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there are no child subreapers")

# Who is reaped by whom is a matter of the whole process: each test runs its scenario in one of its own.


HELPERS = """
(setsid sleep 600 & echo $! > marked)
(env -i "$(command -v sleep)" 600 & echo $! > unmarked)
sleep 600 & echo $! > own
(setsid true &)
(true &)
echo $$ > ready
read forever < fifo
"""


async def living(folder: Path) -> Any:
    os.mkfifo(folder / "fifo")
    async with at_work(folder, interval=0.05) as workers:
        worker = await workers.start(HELPERS)
        helpers = [await workers.pid(name) for name in ("marked", "unmarked", "own")]
        forgetful = await workers.start('exec env -i "$(command -v sleep)" 600')
        other = await workers.start("setsid sleep 600 & echo $! > bait")
        bait = await workers.pid("bait")
        await workers.end(other)
        # Those that ended by themselves are reaped, and several sweeps have gone by.
        own = {worker.pid, forgetful.pid, *helpers[:2]}
        await eventually(lambda: gone(bait) and set(processes.children(os.getpid())) == own)
        await asyncio.sleep(0.3)
        before = [processes.state(pid) for pid in (forgetful.pid, *helpers)]
        forgetful.kill()
        await workers.end(forgetful)
        (folder / "fifo").write_text("\n")
        await workers.end(worker)
        await eventually(lambda: gone(*helpers))
        return before


def test_what_a_living_worker_has_put_aside_lives_as_long_as_it_does(tmp_path: Path) -> None:
    assert apart(living, tmp_path) == ["S"] * 4


async def too_late(folder: Path) -> Any:
    async with at_work(folder) as workers:
        mark = workers.orphans.new_mark()
        child = await asyncio.create_subprocess_exec(
            "sh",
            "-c",
            "(setsid sleep 600 & echo $! > pid)",
            cwd=folder,
            env=os.environ | {processes.MARK: mark},
        )
        await child.wait()
        pid = await workers.pid("pid")
        workers.orphans.ended(mark)
        workers.orphans.enroll(pid, mark)
        await eventually(lambda: gone(pid))
        return len(workers.ended())


def test_a_worker_that_ended_before_it_was_enrolled_is_not_taken_for_a_living_one(tmp_path: Path) -> None:
    assert apart(too_late, tmp_path) == 1


# What is the event loop's own.


async def beside(folder: Path) -> Any:
    async with at_work(folder, interval=0.01) as workers:

        async def short(number: int) -> int:
            """Start a process as the daemon might: in its session or its own, with a mark that lives."""
            mark = workers.orphans.new_mark()
            child = await asyncio.create_subprocess_exec(
                *("sh", "-c", f"sleep 0.0{number % 10}; exit {number}"),
                env=os.environ | {processes.MARK: mark},
                start_new_session=number % 2 == 0,
            )
            if number % 3 == 0:
                workers.orphans.enroll(child.pid, mark)
            if number % 5 == 0:
                time.sleep(0.05)  # noqa: ASYNC251 - a stall: children end meanwhile, and sweeps become due
            code = await child.wait()
            workers.orphans.ended(mark)
            return code

        codes = await asyncio.gather(*(short(number) for number in range(50)))
        return [codes, workers.ended()]


def test_children_of_the_event_loop_are_left_to_it_however_often_it_is_swept(tmp_path: Path) -> None:
    codes, ended = apart(beside, tmp_path)
    assert codes == list(range(50))
    assert ended == []


async def unmarked_children(folder: Path) -> Any:
    async with at_work(folder, interval=0.02) as workers:
        child = await asyncio.create_subprocess_exec("sh", "-c", "read x; exit 4", stdin=subprocess.PIPE)
        threaded = asyncio.to_thread(subprocess.run, ["sh", "-c", "sleep 0.3; exit 5"], check=False)
        other = (await threaded).returncode
        assert child.stdin is not None
        child.stdin.write(b"\n")
        return [await child.wait(), other, workers.ended()]


def test_a_child_in_the_daemons_own_session_needs_no_mark(tmp_path: Path) -> None:
    assert apart(unmarked_children, tmp_path) == [4, 5, []]


async def born_with(folder: Path) -> Any:
    child = await asyncio.create_subprocess_exec(
        "sh", "-c", "read x; exit 6", stdin=subprocess.PIPE, start_new_session=True
    )
    async with at_work(folder, interval=0.02) as workers:
        await asyncio.sleep(0.3)
        await child.communicate(b"\n")
        return [child.returncode, workers.ended()]


def test_a_child_that_the_daemon_was_born_with_is_not_ended(tmp_path: Path) -> None:
    assert apart(born_with, tmp_path) == [6, []]
