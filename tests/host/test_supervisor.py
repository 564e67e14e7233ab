"""Worker processes that are kept running, and the calls in them, whatever a plugin does."""

from __future__ import annotations

import asyncio

import pytest

from hermes.host.workers.failures import Crashed, Raised, TimedOut, Unavailable
from tests.support.bench import BLOCK, HOLD, OBEY, Bench, alive, eventually, file_text


async def test_a_call_waits_for_its_worker_to_start(bench: Bench) -> None:
    bench.write("p", OBEY)
    bench.start()
    assert bench.plugin("p")["workers"] == []
    assert await bench.run("p") == await bench.worker("p")


async def test_no_more_calls_run_than_the_manifest_allows_and_they_start_in_order(bench: Bench) -> None:
    await bench.begin_plugin(HOLD, concurrency=2)
    runs = [bench.run("p", request_id=f"r{number}") for number in range(5)]
    await eventually((bench.data("p") / "began r1").exists)
    row = bench.plugin("p")
    assert (row["queue_depth"], [worker["busy"] for worker in row["workers"]]) == (3, [2])
    assert bench.metric("hermes_queue_depth", plugin="p") == 3
    for number in range(3):
        (bench.data("p") / f"go r{number}").touch()
        assert await runs[number] == f"r{number}"
        await runs[number + 2].started.wait()
        assert [run.started.is_set() for run in runs] == [other <= number + 2 for other in range(5)]
    (bench.data("p") / "go").touch()
    assert [await run for run in runs[3:]] == ["r3", "r4"]


async def test_more_workers_are_started_while_calls_wait(bench: Bench) -> None:
    await bench.begin_plugin(HOLD, concurrency=1, workers={"min": 1, "max": 2})
    runs = [bench.run("p") for _ in range(3)]
    await asyncio.gather(*(run.started.wait() for run in runs[:2]))
    assert len(bench.plugin("p")["workers"]) == 2
    assert not runs[2].started.is_set()
    (bench.data("p") / "go").touch()
    await asyncio.gather(*runs)


async def test_without_a_worker_in_reserve_the_first_call_starts_one(bench: Bench) -> None:
    bench.write("p", OBEY, workers={"min": 0, "max": 1})
    bench.start()
    await asyncio.sleep(0)
    assert (bench.plugin("p")["state"], bench.plugin("p")["workers"]) == ("ready", [])
    assert await bench.run("p") == await bench.worker("p")


async def test_a_call_that_waits_too_long_for_a_place_is_unavailable(bench: Bench) -> None:
    bench.write("p", HOLD, concurrency=1)
    bench.start(queue_wait=0.3)
    await bench.worker("p")  # its start may take longer than a call waits
    first = bench.run("p")
    await first.started.wait()
    late = bench.run("p")
    with pytest.raises(Unavailable, match=r"no worker had room within 0\.3 s"):
        await late
    assert not late.started.is_set()
    (bench.data("p") / "go").touch()
    await first


async def test_who_gives_up_while_waiting_or_starting_keeps_no_place(bench: Bench) -> None:
    await bench.begin_plugin(HOLD, concurrency=1)
    held = asyncio.Event()
    starting = bench.run("p", held=held)
    await starting.started.wait()
    waiting = [bench.run("p") for _ in range(3)]
    await eventually(lambda: bench.plugin("p")["queue_depth"] == 3)
    waiting[0].task.cancel()
    starting.task.cancel()
    await waiting[1].started.wait()
    (bench.data("p") / "go").touch()
    results = await asyncio.gather(starting, *waiting, return_exceptions=True)
    assert [type(result) for result in results] == [asyncio.CancelledError] * 2 + [str] * 2
    (worker,) = bench.plugin("p")["workers"]
    assert worker["busy"] == 0


async def test_calls_and_failures_are_counted_and_timed(bench: Bench) -> None:
    await bench.begin_plugin("async def handle(message, context):\n    assert not message['payload']\n")
    row = bench.plugin("p")
    assert (row["calls"], row["failures"], row["p50_ms"], row["p95_ms"]) == (0, 0, None, None)
    await bench.run("p")
    for _ in range(2):
        with pytest.raises(Raised):
            await bench.run("p", {"a": 1})
    row = bench.plugin("p")
    assert (row["calls"], row["failures"], row["breaker"]["failures"]) == (3, 2, 2)
    assert 0 < row["p50_ms"] <= row["p95_ms"]
    await bench.run("p")
    assert bench.plugin("p")["breaker"]["failures"] == 0


async def test_what_a_handler_says_comes_with_its_request_and_level_until_it_has_let_go(bench: Bench) -> None:
    code = """
import asyncio, sys

async def handle(message, context):
    print("printed 打印")
    context["log"].error("logged")
    try:
        await asyncio.sleep(message["payload"]["seconds"])
    finally:
        context["log"].warning("the end")
"""
    await bench.begin_plugin(code)
    with pytest.raises(TimedOut):
        await bench.run("p", {"seconds": 600}, request_id="r-log", timeout=0.2)
    lines = await eventually(lambda: bench.book.lines(event="plugin_log", text="the end"))
    assert [(line["request_id"], line["level"], line["plugin"]) for line in lines] == [
        ("r-log", "warning", "p")
    ]
    said = bench.book.lines(event="plugin_log", request_id="r-log")
    assert [(line["text"], line["level"]) for line in said] == [
        ("printed 打印", "info"),
        ("logged", "error"),
        ("the end", "warning"),
    ]


async def test_progress_reaches_the_caller_in_order(bench: Bench) -> None:
    code = """
async def handle(message, context):
    for number in range(100):
        await context["progress"](f"步骤 {number}", number)
"""
    await bench.begin_plugin(code)
    run = bench.run("p")
    await run
    assert run.progress == [(f"步骤 {number}", number) for number in range(100)]


async def test_stopping_turns_away_who_waits_and_ends_every_worker_even_a_stuck_one(bench: Bench) -> None:
    pid = await bench.begin_plugin(concurrency=1)
    stuck = bench.run("p", BLOCK)
    await eventually((bench.data("p") / "began").exists)
    waiting = bench.run("p")
    await eventually(lambda: bench.plugin("p")["queue_depth"] == 1)
    await bench.stop()
    for run in (waiting, bench.run("p")):
        with pytest.raises(Unavailable, match="Hermes is shutting down"):
            await run
    with pytest.raises(Crashed):
        await stuck
    assert not alive(pid)
    assert bench.plugin("p")["workers"] == []


async def test_stopping_does_not_wait_for_a_plugin_that_is_still_being_imported(bench: Bench) -> None:
    file = bench.home / "pid"
    bench.write("p", f"import os, time\nopen({str(file)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n")
    bench.start()
    pid = int(await file_text(file))
    await bench.stop()
    assert not alive(pid)
