"""A plugin that fails over and over is left alone for a while, on a clock that nobody puts right, and is back by itself."""

from __future__ import annotations

import asyncio
import time

import pytest

from hermes.host.workers.failures import BreakerOpen, Crashed, Unavailable
from tests.support.bench import CRASH, HOLD, OBEY, Bench
from tests.support.survival import Plugin, handling, printing, speaking, survived

FAILING: dict[str, Plugin] = {
    "crashes": handling("os._exit(1)"),
    "raises": handling("raise LookupError('找不到')"),
    "is-late": handling("await asyncio.sleep(600)"),
    "cannot-reach-what-it-needs": handling(
        "return {'error': {'code': 'upstream_unavailable', 'message': 'x'}}"
    ),
    "process-crashes": speaking("os._exit(1)"),
    "program-fails": printing("sys.exit('坏了')"),
}


async def test_plugins_that_fail_in_any_way_are_paused_one_by_one_and_serve_again_after_the_cooldown(
    bench: Bench,
) -> None:
    async with survived(bench, FAILING, failure_threshold=2) as survivors:
        for _ in range(2):
            await survivors.harm(*FAILING, seconds=0.5)
        refused = await survivors.harm(*FAILING)
        assert {name: end.partition(":")[0] for name, end in refused.items()} == dict.fromkeys(
            FAILING, "BreakerOpen"
        )
        for bench.later in (10.0, -3600.0):  # too early, and a clock that goes back
            with pytest.raises(BreakerOpen):
                await bench.run("crashes")
        bench.later = 30.0
    states = {name: bench.plugin(name)["breaker"]["state"] for name in (*FAILING, "beside")}
    assert states == dict.fromkeys(states, "closed")


async def test_however_far_the_clock_jumps_one_call_tries_first(bench: Bench) -> None:
    async with survived(bench, {"p": handling("os._exit(1)")}, failure_threshold=1) as survivors:
        await survivors.harm("p")
        bench.later = 1e9
        runs = [bench.run("p").task for _ in range(3)]
        ends = await asyncio.gather(*runs, return_exceptions=True)
    assert [type(end) for end in ends] == [str, BreakerOpen, BreakerOpen]


async def test_steps_of_the_wall_clock_end_no_call(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.write("p", HOLD, workers={"min": 0, "max": 1, "idle_stop": 600})
    bench.start()
    run = bench.run("p", request_id="r1", timeout=30)
    await run.started.wait()
    pid, wall = await bench.worker("p"), time.time
    for step in (86_400, -86_400):
        monkeypatch.setattr(time, "time", lambda step=step: wall() + step)
        await asyncio.sleep(0.05)
        assert not run.task.done()
    (bench.data("p") / "go").touch()
    assert await run == "r1"
    assert await bench.run("p", request_id="r2") == "r2"
    assert await bench.worker("p") == pid


async def test_steps_of_the_wall_clock_do_not_hurry_the_starts_of_what_crashes_over_and_over(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.write("p", OBEY)
    bench.start(failure_threshold=100, queue_wait=1)
    wall, pid = time.time, 0
    for crashes in range(1, 5):
        pid = await bench.worker("p", other_than=pid)
        monkeypatch.setattr(time, "time", lambda ahead=crashes * 3600: wall() + ahead)
        with pytest.raises(Crashed):
            await bench.run("p", CRASH)
    with pytest.raises(Unavailable, match=r"no worker had room within 1 s"):  # the next comes after 2 s
        await bench.run("p")
