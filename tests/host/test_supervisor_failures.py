"""Plugins that take too long, do not let go, crash or cannot be imported: what it costs them, and nobody else."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from hermes.host.workers.failures import Crashed, Raised, ResultTooLarge, TimedOut, Unavailable
from tests.support.bench import (
    BLOCK,
    CRASH,
    HOLD,
    IGNORE,
    OBEY,
    SLEEP,
    TIDY,
    Bench,
    alive,
    eventually,
    file_text,
)


async def test_a_payload_that_cannot_be_written_fails_its_call_and_keeps_no_place(bench: Bench) -> None:
    await bench.begin_plugin(concurrency=1)
    nested: dict[str, Any] = {}
    for _ in range(300):
        nested = {"a": nested}
    for _ in range(3):
        with pytest.raises(Raised, match="cannot be handed to the plugin"):
            await bench.run("p", nested)
    assert await bench.run("p") == await bench.worker("p")


async def test_a_call_that_takes_too_long_is_cancelled_and_its_worker_goes_on(bench: Bench) -> None:
    pid = await bench.begin_plugin()
    with pytest.raises(TimedOut, match=r"no answer within 0\.1 s") as timed_out:
        await bench.run("p", SLEEP, timeout=0.1)
    assert timed_out.value.seconds == 0.1
    assert await bench.run("p") == pid
    assert bench.book.lines(event="worker_exited") == []


async def test_while_a_handler_has_not_let_go_its_worker_gets_nothing_new(bench: Bench) -> None:
    pid = await bench.begin_plugin(concurrency=4)
    untidy = [bench.run("p", TIDY, timeout=0.1), bench.run("p", TIDY)]
    with pytest.raises(TimedOut):
        await untidy[0]
    untidy[1].task.cancel()
    quick = bench.run("p", SLEEP)
    next_one = bench.run("p")
    await eventually(lambda: bench.plugin("p")["queue_depth"] == 2)
    quick.task.cancel()
    (bench.data("p") / "tidied").touch()
    assert await next_one == pid


async def test_workers_that_do_not_let_go_are_killed_and_replaced_and_nobody_else_notices(
    bench: Bench,
) -> None:
    stuck = {"ignores-cancel": IGNORE, "blocks": BLOCK}
    for name in (*stuck, "other"):
        bench.write(name, OBEY)
    bench.start()
    pids = {name: await bench.worker(name) for name in (*stuck, "other")}
    beside = [bench.run(name, SLEEP) for name in stuck]
    await asyncio.gather(*(run.started.wait() for run in beside))
    late = [bench.run(name, do, timeout=0.2) for name, do in stuck.items()]
    ended = await asyncio.gather(*late, return_exceptions=True)
    assert [type(end) for end in ended] == [TimedOut, TimedOut]
    waiting = [bench.run(name) for name in stuck]
    assert await bench.run("other") == pids["other"]
    ended = await asyncio.gather(*beside, return_exceptions=True)
    assert [str(end) for end in ended] == [
        "the worker did not stop a call within its grace and was killed"
    ] * 2
    for name, run in zip(stuck, waiting, strict=True):
        assert await run == await bench.worker(name, other_than=pids[name])
        assert not alive(pids[name])
        assert bench.metric("hermes_worker_restarts_total", plugin=name, reason="killed") == 1
    assert {line["plugin"] for line in bench.book.lines(event="worker_stuck")} == stuck.keys()
    child = int(await file_text(bench.data("blocks") / "child"))
    await eventually(lambda: not alive(child))
    assert await bench.run("other") == pids["other"]


async def test_cancelling_the_caller_cancels_the_handler(bench: Bench) -> None:
    pid = await bench.begin_plugin(concurrency=1)
    run = bench.run("p", SLEEP)
    await eventually((bench.data("p") / "began").exists)
    run.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert await bench.run("p") == pid


async def test_a_crash_fails_its_calls_with_the_last_line_of_stderr_and_the_worker_is_replaced(
    bench: Bench,
) -> None:
    pid = await bench.begin_plugin()
    beside = bench.run("p", SLEEP)
    await beside.started.wait()
    reason = "the worker ended with exit code 9: 致命错误: no memory"
    for run in (bench.run("p", CRASH), beside):
        with pytest.raises(Crashed) as crash:
            await run
        assert crash.value.reason == reason
    assert await bench.run("p") == await bench.worker("p", other_than=pid)
    (line,) = bench.book.lines(event="worker_exited")
    assert (line["pid"], line["reason"], line["plugin"]) == (pid, reason, "p")
    assert bench.metric("hermes_worker_restarts_total", plugin="p", reason="crash") == 1


async def test_those_who_wait_keep_their_order_when_the_worker_dies(bench: Bench) -> None:
    pid = await bench.begin_plugin(HOLD, concurrency=1)
    runs = [bench.run("p", request_id=f"r{number}") for number in range(4)]
    await eventually((bench.data("p") / "began r0").exists)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(Crashed):
        await runs[0]
    for number in range(1, 4):
        await runs[number].started.wait()
        assert [run.started.is_set() for run in runs[1:]] == [other <= number for other in range(1, 4)]
        (bench.data("p") / f"go r{number}").touch()
        assert await runs[number] == f"r{number}"


async def test_a_plugin_that_crashes_again_and_again_is_started_again_and_again(bench: Bench) -> None:
    bench.write("p", OBEY)
    bench.start(failure_threshold=4)
    for _ in range(3):
        with pytest.raises(Crashed):
            await bench.run("p", CRASH)
    assert isinstance(await bench.run("p"), int)
    assert bench.metric("hermes_worker_restarts_total", plugin="p", reason="crash") == 3


async def test_a_plugin_that_cannot_be_imported_says_where_and_starts_by_itself_once_it_is_mended(
    bench: Bench,
) -> None:
    folder = bench.write("p", "import os\n\ndef broken(:\n")
    bench.start()
    waiting = bench.run("p")
    with pytest.raises(Unavailable, match="SyntaxError"):
        await waiting
    row = bench.plugin("p")
    assert (row["state"], row["workers"]) == ("failed", [])
    assert (row["last_error"].file, row["last_error"].line) == ("plugin.py", 3)
    assert "SyntaxError" in row["last_error"].message
    with pytest.raises(Unavailable, match="SyntaxError"):
        await bench.run("p")
    assert bench.metric("hermes_worker_restarts_total", plugin="p", reason="start") >= 1
    assert bench.book.lines(event="worker_exited") == []
    write(folder / "plugin.py", OBEY)
    await bench.look()
    await bench.worker("p")
    row = bench.plugin("p")
    assert (row["state"], row["last_error"]) == ("ready", None)
    assert await bench.run("p") == row["workers"][0]["pid"]


def write(file: Path, code: str) -> None:
    file.write_text(code, encoding="utf-8")


async def test_a_plugin_that_dies_while_it_is_imported_says_why(bench: Bench) -> None:
    bench.write("p", "import os\nos.write(2, b'no licence')\nos._exit(4)\n")
    bench.start()
    with pytest.raises(Unavailable, match="the worker ended with exit code 4: no licence"):
        await bench.run("p")
    assert bench.plugin("p")["state"] == "failed"


async def test_an_answer_that_is_too_large_fails_its_call_alone(bench: Bench) -> None:
    bench.write("p", "async def handle(message, context):\n    return 'x' * message['payload']['size']\n")
    bench.start(frame_bytes=10_000)
    pid = await bench.worker("p")
    large, small = bench.run("p", {"size": 20_000}), bench.run("p", {"size": 10})
    with pytest.raises(ResultTooLarge):
        await large
    assert await small == "x" * 10
    assert await bench.worker("p") == pid


async def test_a_worker_more_that_cannot_start_is_tried_ever_more_rarely_while_calls_succeed(
    bench: Bench,
) -> None:
    spoiled = bench.home / "spoiled"
    code = f"""
import asyncio, os

if os.path.exists({str(spoiled)!r}):
    raise RuntimeError("spoiled")

async def handle(message, context):
    await asyncio.sleep(0.02)
"""
    bench.write("p", code, concurrency=1, workers={"min": 1, "max": 2})
    bench.start()
    await bench.worker("p")
    spoiled.touch()
    await asyncio.gather(*(bench.run("p") for _ in range(60)))
    assert 1 <= len(bench.book.lines(event="plugin_not_started")) <= 6
    assert bench.plugin("p")["state"] == "ready"
