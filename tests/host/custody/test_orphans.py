"""What a worker leaves behind is ended and reaped, be it of this daemon or of the one before."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from hermes.host.custody import processes
from hermes.host.custody.orphans import Orphans
from tests.support.apart import apart
from tests.support.bench import eventually
from tests.support.logbook import Logbook
from tests.support.workers import at_work, gone

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there are no child subreapers")

# Who is reaped by whom is a matter of the whole process: each test runs its scenario in one of its own.


async def leave(folder: Path, script: str, *names: str) -> int:
    """Run a worker that leaves processes behind, their pids in files `names`; return how many the log says were ended."""
    async with at_work(folder) as workers:
        worker = await workers.start(script)
        pids = [await workers.pid(name) for name in names]
        await workers.end(worker)
        await eventually(lambda: gone(*pids))
        assert processes.children(os.getpid()) == []
        return len(workers.ended())


async def grandchild(folder: Path) -> Any:
    return await leave(folder, "setsid sh -c 'echo $$ > pid; exec sleep 600' & exit 3", "pid")


def test_a_grandchild_with_a_session_of_its_own_is_ended_and_reaped(tmp_path: Path) -> None:
    assert apart(grandchild, tmp_path) == 1


async def service(folder: Path) -> Any:
    script = "trap '' TERM HUP INT; echo $$ > pid; while :; do :; done"
    return await leave(
        folder,
        f'(setsid sh -c "{script.replace("$", chr(92) + "$")}" &); while [ ! -s pid ]; do :; done',
        "pid",
    )


def test_a_service_that_forked_twice_and_heeds_no_signal_is_ended(tmp_path: Path) -> None:
    assert apart(service, tmp_path) == 1


async def stopped(folder: Path) -> Any:
    return await leave(folder, "setsid sh -c 'echo $$ > pid; kill -STOP $$' &", "pid")


def test_one_that_is_stopped_is_ended(tmp_path: Path) -> None:
    assert apart(stopped, tmp_path) == 1


TREE = """
setsid sh -c 'setsid sleep 600 & echo $! > a; (setsid sleep 600 & echo $! > b); sleep 600 & echo $! > c; wait' &
echo $! > d
while [ ! -s a ] || [ ! -s b ] || [ ! -s c ]; do :; done
"""


async def tree(folder: Path) -> Any:
    return await leave(folder, TREE, "a", "b", "c", "d")


def test_all_that_an_orphan_has_started_goes_with_it(tmp_path: Path) -> None:
    assert apart(tree, tmp_path) == 4


async def unmarked(folder: Path) -> Any:
    return await leave(
        folder, "env -i $(command -v setsid) /bin/sh -c 'echo $$ > pid; exec /bin/sleep 600' &", "pid"
    )


def test_one_that_has_thrown_its_mark_away_is_ended_at_second_sight(tmp_path: Path) -> None:
    assert apart(unmarked, tmp_path) == 1


async def odd_name(folder: Path) -> Any:
    shutil.copy(shutil.which("sleep") or "", folder / ") Z 1 (名")
    async with at_work(folder) as workers:
        worker = await workers.start("setsid './) Z 1 (名' 600 & echo $! > pid; wait")
        pid = await workers.pid("pid")
        await eventually(lambda: (found := processes.stat(pid)) is not None and "名" in found.name)
        worker.kill()
        await workers.end(worker)
        await eventually(lambda: gone(pid))
        return workers.ended()


def test_the_name_in_the_log_may_be_anything(tmp_path: Path) -> None:
    assert apart(odd_name, tmp_path) == [") Z 1 (名"]


CRASH = "setsid sh -c ': > up-$$; exec sleep 600' & while [ ! -e up-$! ]; do :; done; kill -SEGV $$"


async def crashes(folder: Path) -> Any:
    async with at_work(folder, interval=60) as workers:
        for _ in range(10):
            group = [await workers.start(CRASH) for _ in range(10)]
            for worker in group:
                await workers.end(worker)
        await eventually(lambda: processes.children(os.getpid()) == [])
        return [len(workers.ended()), len(os.listdir("/proc/self/fd"))]


def test_a_hundred_crashes_leave_no_process_no_zombie_and_no_descriptor(tmp_path: Path) -> None:
    ended, descriptors = apart(crashes, tmp_path)
    assert ended == 100
    assert descriptors < 40


# Before and after.


async def predecessor(folder: Path) -> Any:
    """Processes of a daemon that was killed, one of them with no mark below one that has one, and one of another's."""
    script = "setsid sh -c 'env -i /bin/sleep 600 & echo $! > unmarked; trap \"\" TERM; wait' & echo $! > marked; sleep 0.1"
    for number, mark in enumerate((f"{folder}:dead-1", f"{folder}0:dead-1")):
        (folder / str(number)).mkdir()
        environ = {"PATH": os.environ["PATH"], "APART": os.environ["APART"], processes.MARK: mark}
        shell = await asyncio.create_subprocess_exec(
            "sh", "-c", script, cwd=folder / str(number), env=environ
        )
        await shell.wait()
    mine, others = [
        [int((folder / number / name).read_text()) for name in ("marked", "unmarked")]
        for number in ("0", "1")
    ]
    with Logbook() as book:
        orphans = Orphans(str(folder), log=book.log)
        await orphans.open()
        left = [processes.state(pid) for pid in mine]
        other = [processes.state(pid) for pid in others]
        for pid in others:
            os.kill(pid, signal.SIGKILL)
        await orphans.close()
        return [left, other, sorted(line["command"] for line in book.lines(event="orphan_ended"))]


def test_what_an_earlier_daemon_of_this_folder_left_is_ended_at_the_start_and_no_other(
    tmp_path: Path,
) -> None:
    left, other, ended = apart(predecessor, tmp_path)
    assert set(left) <= {None, "Z"}
    assert other == ["S", "S"]
    assert ended == ["sh", "sleep"]


async def restarted(folder: Path) -> Any:
    with Logbook() as book:
        orphans = Orphans(str(folder), log=book.log)
        await orphans.open()
        await orphans.close()
        return book.lines()


def test_a_daemon_that_a_plugin_of_its_folder_started_does_not_end_itself(tmp_path: Path) -> None:
    assert apart(restarted, tmp_path, HERMES_WORKER=f"{tmp_path}:dead-1") == []


ALL = """
setsid sleep 600 & echo $! > a
(env -i "$(command -v setsid)" "$(command -v sleep)" 600 & echo $! > b)
(env -i "$(command -v sleep)" 600 & echo $! > d)
trap '' TERM
echo $$ > c
while :; do sleep 1; done
"""


async def close(folder: Path) -> Any:
    async with at_work(folder, interval=60) as workers:
        worker = await workers.start(ALL)
        pids = [await workers.pid(name) for name in ("a", "b", "c", "d")]
        await workers.orphans.close()
        await eventually(lambda: gone(*pids))
        return await worker.wait()


def test_nothing_that_was_started_outlives_the_close_even_if_its_worker_lives(tmp_path: Path) -> None:
    assert apart(close, tmp_path) == -signal.SIGKILL


async def marks(folder: Path) -> Any:
    with Logbook() as book:
        first, second = Orphans(str(folder), log=book.log), Orphans(str(folder), log=book.log)
        return [first.new_mark(), first.new_mark(), second.new_mark()]


def test_every_worker_has_a_mark_of_its_own_that_begins_with_the_state_folders(tmp_path: Path) -> None:
    found = asyncio.run(marks(tmp_path))
    assert len(set(found)) == 3
    assert all(mark.startswith(f"{tmp_path}:") for mark in found)
