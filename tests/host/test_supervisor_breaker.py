"""The circuit breaker of a plugin at work: who is counted, who is the probe, who is refused, and what a new version changes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hermes.host.workers.failures import BreakerOpen, Crashed, Raised, TimedOut
from tests.support.bench import CRASH, HOLD, OBEY, SLEEP, Bench, eventually
from tests.support.pauses import DOES, act, fail, failures, state, unwritable


async def test_what_was_cancelled_or_never_began_neither_counts_nor_begins_the_count_anew(
    bench: Bench,
) -> None:
    bench.write("p", **DOES, concurrency=1)
    bench.start(failure_threshold=3)
    await fail(bench, 2)
    running = act(bench, "await asyncio.sleep(600)")
    waiting = act(bench, "return 1")
    await eventually(lambda: bench.plugin("p")["queue_depth"] == 1)
    for cancelled in (waiting, running):
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
    with pytest.raises(Raised, match="cannot be handed to the plugin"):
        await bench.run("p", unwritable())
    assert failures(bench) == 2
    await fail(bench, 1)
    assert state(bench) == "open"


async def test_a_death_counts_once_however_many_calls_fell_with_it(bench: Bench) -> None:
    pid = await bench.begin_plugin(OBEY, concurrency=4)
    beside = [bench.run("p", SLEEP) for _ in range(3)]
    await asyncio.gather(*(one.started.wait() for one in beside))
    ends = await asyncio.gather(
        bench.run("p", CRASH).task, *(one.task for one in beside), return_exceptions=True
    )
    assert [type(end) for end in ends] == [Crashed] * 4
    assert (state(bench), failures(bench), bench.plugin("p")["failures"]) == ("closed", 1, 4)
    await bench.worker("p", other_than=pid)
    with pytest.raises(Crashed):
        await bench.run("p", CRASH)
    assert failures(bench) == 2


async def test_a_call_that_is_late_and_the_death_that_it_brings_on_all_others_are_two_failures(
    bench: Bench,
) -> None:
    await bench.begin_plugin(OBEY, concurrency=4)
    beside = [bench.run("p", SLEEP) for _ in range(3)]
    await asyncio.gather(*(one.started.wait() for one in beside))
    with pytest.raises(TimedOut):
        await bench.run("p", {"do": "ignore cancel"}, timeout=0.1)
    ends = await asyncio.gather(*(one.task for one in beside), return_exceptions=True)
    assert [type(end) for end in ends] == [Crashed] * 3
    assert (state(bench), failures(bench)) == ("closed", 2)


async def test_of_fifty_at_once_after_the_cooldown_exactly_one_is_the_probe(bench: Bench) -> None:
    bench.write("p", OBEY, concurrency=64, workers=2)
    bench.start(failure_threshold=1)
    with pytest.raises(Crashed):
        await bench.run("p", CRASH)
    bench.later = 29.0
    with pytest.raises(BreakerOpen, match="tried again in 1 s"):
        await bench.run("p")
    calls = bench.plugin("p")["calls"]
    bench.later = 30.0
    ends = await asyncio.gather(*(bench.run("p").task for _ in range(50)), return_exceptions=True)
    assert [type(end) for end in ends] == [int] + [BreakerOpen] * 49
    assert {end.reason for end in ends if isinstance(end, BreakerOpen)} == {
        "its last 1 calls failed; one call tries it now"
    }
    assert (state(bench), bench.plugin("p")["calls"]) == ("closed", calls + 1)
    assert isinstance(await bench.run("p"), int)


PROBES = {
    "return 7": "closed",
    "return {'error': 'no'}": "closed",
    "raise LookupError": "open",
    "os._exit(1)": "open",
    "await asyncio.sleep(600)": "open",
}


async def test_the_end_of_the_probe_decides(bench: Bench) -> None:
    bench.write("p", **DOES)
    bench.start(failure_threshold=2)
    for what, then in PROBES.items():
        await fail(bench, 2)
        bench.later += 30.0
        await asyncio.gather(act(bench, what, timeout=0.3), return_exceptions=True)
        assert state(bench) == then, what
        if then == "open":
            with pytest.raises(BreakerOpen, match=r"its last 3 calls failed; it is tried again in 30 s"):
                await bench.run("p")
            bench.later += 30.0
        assert await bench.run("p") == "well"
        assert (state(bench), failures(bench)) == ("closed", 0)


async def test_a_probe_that_is_cancelled_or_cannot_be_handed_over_leaves_the_next_call_to_be_one(
    bench: Bench,
) -> None:
    bench.write("p", **DOES)
    bench.start(failure_threshold=2)
    await fail(bench, 2)
    bench.later = 30.0
    with pytest.raises(Raised, match="cannot be handed to the plugin"):
        await bench.run("p", unwritable())
    assert (state(bench), failures(bench)) == ("half_open", 2)
    probe = bench.run("p", {"do": "await asyncio.sleep(600)"})
    await probe.started.wait()
    with pytest.raises(BreakerOpen, match="one call tries it now"):
        await bench.run("p")
    probe.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await probe
    assert (state(bench), failures(bench)) == ("half_open", 2)
    assert await bench.run("p") == "well"
    assert state(bench) == "closed"


async def test_who_waits_is_refused_at_once_when_it_opens_and_who_runs_goes_on(bench: Bench) -> None:
    code = HOLD.replace(
        "    return name", "    if message['payload'].get('bad'): raise LookupError(name)\n    return name"
    )
    bench.write("p", code, concurrency=2)
    bench.start(failure_threshold=1)
    bad, good = bench.run("p", {"bad": True}, request_id="bad"), bench.run("p", request_id="good")
    await asyncio.gather(bad.started.wait(), good.started.wait())
    waiting = [bench.run("p") for _ in range(20)]
    await eventually(lambda: bench.plugin("p")["queue_depth"] == 20)
    (bench.data("p") / "go bad").touch()
    ends = await asyncio.gather(*(one.task for one in waiting), return_exceptions=True)
    assert [type(end) for end in ends] == [BreakerOpen] * 20
    assert not any(one.started.is_set() for one in waiting)
    with pytest.raises(Raised):
        await bad
    (bench.data("p") / "go good").touch()
    assert await good == "good"
    assert (state(bench), bench.plugin("p")["queue_depth"]) == ("open", 0)


async def test_a_new_version_begins_with_a_closed_one_and_the_old_ones_calls_do_not_count_for_it(
    bench: Bench,
) -> None:
    code = HOLD.replace("    return name", "    raise LookupError(name)")
    folder = bench.write("p", code)
    bench.start(failure_threshold=1)
    late, first = bench.run("p", request_id="late"), bench.run("p", request_id="first")
    await asyncio.gather(late.started.wait(), first.started.wait())
    (bench.data("p") / "go first").touch()
    with pytest.raises(Raised):
        await first
    assert state(bench) == "open"
    (folder / "plugin.py").write_text(str(DOES["code"]))
    await bench.look()
    assert (state(bench), failures(bench)) == ("closed", 0)
    (bench.data("p") / "go late").touch()
    with pytest.raises(Raised):
        await late
    assert (state(bench), failures(bench)) == ("closed", 0)
    assert await bench.run("p") == "well"
    assert bench.metric("hermes_breaker_state", plugin="p") == 0


@pytest.mark.parametrize("order", ["reload", "enable"])
async def test_an_order_to_load_it_anew_closes_it(bench: Bench, order: str) -> None:
    bench.write("p", **DOES)
    host = bench.start(failure_threshold=1)
    await fail(bench, 1)
    assert state(bench) == "open"
    if order == "enable":
        await host.disable("p")
    await getattr(host, order)("p")
    assert (state(bench), failures(bench)) == ("closed", 0)
    assert await bench.run("p") == "well"


async def test_a_failed_candidate_does_not_close_it(bench: Bench) -> None:
    folder = bench.write("p", **DOES)
    bench.start(failure_threshold=1)
    await fail(bench, 1)
    (folder / "plugin.py").write_text("def broken(:\n")
    await bench.look()
    assert (state(bench), failures(bench)) == ("open", 1)


async def test_its_states_are_shown_measured_and_logged(bench: Bench) -> None:
    bench.write("p", **DOES)
    bench.write("q", **DOES)
    bench.start(failure_threshold=2)
    await bench.worker("p")

    def shown() -> list[Any]:
        breaker = bench.plugin("p")["breaker"]
        metric = bench.metric("hermes_breaker_state", plugin="p")
        return [breaker["state"], breaker["failures"], breaker["retry_at"] is not None, metric]

    assert shown() == ["closed", 0, False, 0]
    await fail(bench, 1)
    assert shown() == ["closed", 1, False, 0]
    await fail(bench, 1)
    assert shown() == ["open", 2, True, 2]
    first, bench.later = bench.plugin("p")["breaker"]["retry_at"], 12.0
    assert 11 < first - bench.plugin("p")["breaker"]["retry_at"] < 13  # as far as the clock has come nearer
    bench.later = 30.0
    assert shown() == ["half_open", 2, False, 1]
    probe = bench.run("p", {"do": "await asyncio.sleep(600)"})
    await probe.started.wait()
    assert shown() == ["half_open", 2, False, 1]
    probe.task.cancel()
    await asyncio.gather(probe.task, return_exceptions=True)
    await bench.run("p")
    assert shown() == ["closed", 0, False, 0]
    lines = [line for line in bench.book.lines(plugin="p") if line["event"].startswith("breaker_")]
    assert [(line["event"], line["level"], line["failures"]) for line in lines] == [
        ("breaker_open", "warning", 2),
        ("breaker_half_open", "info", 2),
        ("breaker_half_open", "info", 2),
        ("breaker_closed", "info", 0),
    ]
    assert bench.metric("hermes_breaker_state", plugin="q") == 0
