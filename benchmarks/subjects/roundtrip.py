"""What a call costs from the host to a worker and back, beside lines that go through a bare pipe and back."""

from __future__ import annotations

import asyncio
import itertools
import os
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import uvloop
from rich.console import Console

from benchmarks.hosting import Hosted, hosted
from benchmarks.pipes import ANSWERING, BARE, Pipe
from benchmarks.servers import place
from benchmarks.tables import Aim, aims, figures
from hermes.host.workers import wire

_SIZES = (200, 10_000)  # bytes of payload
_ROUNDS, _FULL_ROUNDS = 30, 150
_CALLS = 200  # of each, a round
_AT_ONCE = 32
_AIM = 4.0
_HEADINGS = (
    *("payload", "at a time", "processors", "ratio", "call µs", "bare pipe µs", "least worker µs"),
    *("call p99 µs", "bare p99 µs"),
)

Send = Callable[[], Awaitable[object]]


@dataclass(slots=True)
class Measured:
    """One setting: microseconds of every round trip, and the ratio of each round's medians."""

    size: int
    at_once: int
    processors: int
    calls: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)
    least: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        return statistics.median(self.ratios)

    def cells(self) -> list[str]:
        setting = [f"{self.size:,} B", str(self.at_once), str(self.processors)]
        medians = map(statistics.median, (self.calls, self.bare, self.least))
        times = [*medians, _p99(self.calls), _p99(self.bare)]
        return [*setting, f"{self.ratio:.2f}", *(f"{one:.0f}" for one in times)]


def measure(console: Console, full: bool) -> None:
    rounds = _FULL_ROUNDS if full else _ROUNDS
    with place(sync="normal") as home, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        measured = runner.run(_all(home, rounds=rounds))
    method = (
        f"Under uvloop: Host.run on the sample plugin echo, no HTTP and no journal, {rounds} rounds of {_CALLS} calls; in each "
        "round the same frame goes as often through a bare pipe, to a child that waits in read and sends lines back, and to the "
        "least worker there can be: asyncio, json and a task a line, its answer not looked at. Time is that of one round trip; "
        "with several at a time, of the round by its calls. 1 processor: parent and children share it, and a pipe costs no "
        "more than a switch; 2: the parent has one and the children the other. Medians; the ratio is that of the rounds' own."
    )
    rows = [one.cells() for one in measured]
    console.print(figures("Host → worker → host, beside a bare pipe", _HEADINGS, rows=rows, method=method))
    reached = [
        Aim(
            f"against the bare pipe, {one.size:,} B, processors: {one.processors}", _AIM, one.ratio, most=True
        )
        for one in measured
        if one.at_once == 1
    ]
    console.print(aims(reached, title="Aims: one round trip"))


async def _all(home: Path, *, rounds: int) -> list[Measured]:
    settings = [(1, 2), (1, 1), (_AT_ONCE, 2)]
    measured = [Measured(size, at_once, processors) for at_once, processors in settings for size in _SIZES]
    bare, least = await Pipe.start(BARE), await Pipe.start(ANSWERING)
    try:
        async with hosted(home) as host:
            await host.run("echo", {"text": ""})
            [plugin] = host.host.describe()
            children = [plugin["workers"][0]["pid"], bare.pid, least.pid]
            for one in measured:
                with _pinned(children, processors=one.processors):
                    await _setting(one, host, bare=bare, least=least, rounds=rounds)
    finally:
        await bare.stop()
        await least.stop()
    return measured


@contextmanager
def _pinned(children: Sequence[int], *, processors: int) -> Iterator[None]:
    """Keep this process on one processor, and the children on the same or on another one."""
    usable = sorted(os.sched_getaffinity(0))
    for pid in (0, *children):
        os.sched_setaffinity(pid, usable[-1:] if pid and processors > 1 else usable[:1])
    try:
        yield
    finally:
        for pid in (0, *children):
            os.sched_setaffinity(pid, usable)


async def _setting(one: Measured, host: Hosted, *, bare: Pipe, least: Pipe, rounds: int) -> None:
    payload = {"text": "x" * one.size}
    frame = wire.request(1, "handle", params=host.call("echo", payload).params())
    kinds: list[tuple[list[float], Send]] = [
        (one.calls, lambda: host.run("echo", payload)),
        (one.bare, lambda: bare.send(frame)),
        (one.least, lambda: least.send(frame)),
    ]
    for _, send in kinds:  # until everything is warm
        await _round(send, at_once=one.at_once)
    order = itertools.cycle((kinds, kinds[::-1]))
    for turn in itertools.islice(order, rounds):
        medians = {}
        for times, send in turn:
            took = await _round(send, at_once=one.at_once)
            times.extend(took)
            medians[id(times)] = statistics.median(took)
        one.ratios.append(medians[id(one.calls)] / medians[id(one.bare)])


async def _round(send: Send, *, at_once: int) -> list[float]:
    """Return microseconds a round trip."""
    if at_once == 1:
        return [await _timed(send) for _ in range(_CALLS)]

    async def some() -> None:
        for _ in range(_CALLS // at_once + 1):
            await send()

    started = time.perf_counter()
    await asyncio.gather(*(some() for _ in range(at_once)))
    return [(time.perf_counter() - started) / (at_once * (_CALLS // at_once + 1)) * 1e6]


async def _timed(send: Send) -> float:
    started = time.perf_counter()
    await send()
    return (time.perf_counter() - started) * 1e6


def _p99(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.99)]
