"""Python workers in reserve: one is at hand when a worker is wanted, and is nobody's until then."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from hermes.host.workers.launch import blank_launch
from hermes.host.workers.spares import Spares
from hermes.host.workers.wire_worker import Launch
from tests.support.bench import Bench, alive, eventually
from tests.support.logbook import Logbook

WHO = """
import os, resource, subprocess

async def handle(message, context):
    if message["payload"].get("harm") == "die":
        os._exit(1)
    if message["payload"].get("harm") == "breed":
        for _ in range(20):
            subprocess.Popen(["sleep", "600"])
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return [os.getpid(), os.getcwd(), os.environ.get("TOKEN"), context["secrets"], files]
"""
MakeSpares = Callable[[int], Spares]


def launch(folder: Path) -> Launch:
    return blank_launch({"PATH": os.environ["PATH"]}, folder, frame_bytes=1 << 20)


@pytest.fixture
async def make(tmp_path: Path, book: Logbook) -> AsyncIterator[MakeSpares]:
    """Makes spares that are closed with the test."""
    made: list[Spares] = []

    def make(count: int) -> Spares:
        made.append(Spares(lambda: launch(tmp_path), count=count, log=book.log))
        return made[-1]

    yield make
    await asyncio.gather(*(one.close() for one in made))
    assert reserve() == []


def reserve(*others: int) -> list[int]:
    """Return the Python workers below this process, but for these."""
    found = []
    for child in psutil.Process().children():
        try:
            if "hermes.sdk.worker" in child.cmdline() and child.pid not in others:
                found.append(child.pid)
        except psutil.Error:  # it has ended
            continue
    return found


async def one_spare(bench: Bench, *others: int) -> int:
    """Return the pid of the worker in reserve once there is one, of those that are not these."""
    found = await eventually(lambda: reserve(*others, *(one["pid"] for one in bench.plugin("p")["workers"])))
    return found[0]


async def test_a_spare_is_taken_at_once_when_a_worker_dies_and_becomes_one_of_that_plugin(
    bench: Bench,
) -> None:
    bench.environ["TOKEN"] = "令牌"
    bench.write("p", WHO, env=["TOKEN"], limits={"open_files": 99}, concurrency=1)
    bench.start(spare_workers=1)
    first = await bench.run("p")
    spare = await one_spare(bench)
    variables = psutil.Process(spare).environ()
    assert ("TOKEN" in variables, "令牌" in variables.values()) == (False, False)
    assert psutil.Process(spare).cwd() == str(bench.home / "state")
    since = bench.plugin("p")["workers"][0]["since"]
    await asyncio.gather(bench.run("p", {"harm": "die"}).task, return_exceptions=True)
    second = await bench.run("p")
    assert second == [spare, first[1], "令牌", {"TOKEN": "令牌"}, 99]
    assert first[1].startswith(str(bench.home / "state" / "staged" / "p"))
    (row,) = bench.plugin("p")["workers"]
    assert (row["pid"], row["since"] > since) == (spare, True)
    assert alive(await one_spare(bench))


async def test_a_spare_that_was_taken_is_held_to_the_limits_of_its_plugin(bench: Bench) -> None:
    bench.write("p", WHO, limits={"processes": 8})
    bench.start(spare_workers=1)
    await bench.run("p")
    spare = await one_spare(bench)
    await asyncio.gather(bench.run("p", {"harm": "die"}).task, return_exceptions=True)
    assert (await bench.run("p"))[0] == spare
    await bench.run("p", {"harm": "breed"})
    (line,) = await eventually(lambda: bench.book.lines(event="worker_exited", pid=spare))
    assert "more than limits.processes 8" in line["reason"]


async def test_what_a_spare_says_once_it_was_taken_is_said_by_its_plugin(bench: Bench) -> None:
    code = """
import os
print("导入 import")

async def handle(message, context):
    print("叫 call")
    return os.getpid()
"""
    bench.write("p", code, workers={"min": 0, "max": 1, "idle_stop": 0.05})
    bench.start(spare_workers=1)
    first = await bench.run("p")
    await eventually(lambda: not alive(first))
    spare = await one_spare(bench, first)
    assert await bench.run("p") == spare
    said = [(line["plugin"], line["text"]) for line in bench.book.lines(event="plugin_log")]
    assert said == [("p", "导入 import"), ("p", "叫 call")] * 2
    assert bench.book.lines(event="spare_worker_said") == []


async def test_a_plugin_that_a_spare_cannot_load_is_told_as_ever_and_the_spare_is_gone(bench: Bench) -> None:
    folder = bench.write("p", WHO)
    bench.start(spare_workers=1)
    await bench.run("p")
    spare = await one_spare(bench)
    (folder / "plugin.py").write_text("import nothing_of_that_name\n")
    await bench.look()
    error = bench.plugin("p")["last_error"]
    assert (error.file, error.line) == ("plugin.py", 1)
    assert not alive(spare)
    (folder / "plugin.py").write_text(WHO + "# mended\n")
    await bench.look()
    assert bench.plugin("p")["last_error"] is None


async def test_none_is_kept_before_one_was_asked_for_and_then_as_many_as_were_wanted(
    make: MakeSpares,
) -> None:
    spares = make(2)
    await asyncio.sleep(0.05)
    assert reserve() == []
    assert spares.take() is None
    await eventually(lambda: len(spares) == 2)
    worker = spares.take()
    assert worker is not None
    assert worker.pid in reserve()
    await eventually(lambda: len(spares) == 2)
    assert len(reserve()) == 3
    worker.kill()
    await worker.exited.wait()
    assert len(spares) == 2


async def test_a_spare_that_dies_is_replaced(make: MakeSpares, book: Logbook) -> None:
    spares = make(1)
    spares.take()
    await eventually(lambda: len(spares) == 1)
    (dead,) = reserve()
    os.kill(dead, signal.SIGKILL)
    (other,) = await eventually(lambda: reserve(dead))
    await eventually(lambda: len(spares) == 1)
    (line,) = book.lines(event="spare_worker_exited")
    assert (line["pid"], line["reason"]) == (dead, "the worker ended with signal SIGKILL")
    worker = spares.take()
    assert worker is not None
    assert worker.pid == other
    worker.kill()
    await worker.exited.wait()


async def test_closing_ends_all_in_good_order_also_one_that_is_being_started(
    make: MakeSpares, book: Logbook
) -> None:
    ready, starting = make(1), make(1)
    ready.take()
    await eventually(lambda: len(ready) == 1)
    (first,) = reserve()
    starting.take()
    await eventually(lambda: reserve(first))
    await asyncio.gather(ready.close(), starting.close())
    assert reserve() == []
    assert (ready.take(), starting.take()) == (None, None)
    assert book.lines(level="warning") == []


async def test_without_any_wanted_none_is_kept(bench: Bench) -> None:
    bench.write("p", WHO)
    bench.start(spare_workers=0)
    pid = (await bench.run("p"))[0]
    await asyncio.gather(bench.run("p", {"harm": "die"}).task, return_exceptions=True)
    other = (await bench.run("p"))[0]
    await asyncio.sleep(0.7)  # longer than a spare would wait to be started
    assert reserve() == [other]
    assert other != pid


async def test_one_that_cannot_be_started_is_told_and_tried_again_rarely(
    tmp_path: Path, book: Logbook
) -> None:
    spares = Spares(lambda: replace(launch(tmp_path), command=("/does/not/exist",)), count=1, log=book.log)
    assert spares.take() is None
    (line,) = await eventually(lambda: book.lines(event="spare_worker_not_started"))
    assert line["reason"] == "No such file or directory"
    await asyncio.sleep(0.1)
    assert len(book.lines(event="spare_worker_not_started")) == 1
    await spares.close()


async def test_one_that_has_stopped_listening_is_not_handed_over(bench: Bench) -> None:
    folder = bench.write("p", "async def handle(message, context):\n    return 'old'\n")
    bench.start(spare_workers=1)
    assert await bench.run("p") == "old"
    assert bench.host is not None
    spares = bench.host._spares
    await eventually(lambda: len(spares))
    [spare] = spares._workers
    os.kill(spare.pid, signal.SIGSTOP)
    (folder / "plugin.py").write_text("async def handle(message, context):\n    return 'new'\n")
    await bench.look()
    assert await bench.run("p") == "new"
    assert bench.plugin("p")["last_error"] is None
    await eventually(lambda: not alive(spare.pid))
