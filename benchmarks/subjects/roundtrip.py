"""What a call costs from the host to a worker and back, beside lines that go through a bare pipe and back."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import uvloop
from rich.console import Console

from benchmarks.hosting import Hosted, hosted
from benchmarks.pipes import BLOCKING, LOOPING, Pipe
from benchmarks.servers import place
from benchmarks.tables import Aim, aims, figures
from hermes.host import wire

_SIZES = (200, 10_000)  # bytes of payload
_ROUNDS, _FULL_ROUNDS = 30, 150
_CALLS = 200  # of each, a round
_AT_ONCE = 32
_AIM = 4.0
_HEADINGS = (
    *("payload", "at a time", "ratio", "call µs", "bare pipe µs", "its child under asyncio µs"),
    *("call p99 µs", "bare p99 µs"),
)

Send = Callable[[], Awaitable[object]]


@dataclass(slots=True)
class Measured:
    """One setting: microseconds of every round trip, and medians of the rounds."""

    size: int
    at_once: int
    calls: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)
    looping: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        return statistics.median(self.ratios)

    def cells(self) -> list[str]:
        times = [
            *map(statistics.median, (self.calls, self.bare, self.looping)),
            _p99(self.calls),
            _p99(self.bare),
        ]
        return [f"{self.size:,} B", str(self.at_once), f"{self.ratio:.2f}", *(f"{one:.0f}" for one in times)]


def measure(console: Console, full: bool) -> None:
    rounds = _FULL_ROUNDS if full else _ROUNDS
    with place(sync="normal") as home, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        measured = runner.run(_all(home, rounds=rounds))
    method = (
        f"In one process, under uvloop: Host.run on the sample plugin echo, no HTTP and no journal, {rounds} rounds of "
        f"{_CALLS} calls; in each round the same frame goes as often through a bare pipe to a child that waits in read and "
        "sends lines back, and to one that waits in an event loop. Time is that of one round trip; with several at a time, of "
        "the round by its calls. Medians; the ratio is the median of the rounds' own."
    )
    console.print(
        figures(
            "Host → worker → host, beside a bare pipe",
            _HEADINGS,
            rows=[one.cells() for one in measured],
            method=method,
        )
    )
    reached = [
        Aim(f"round trip against the bare pipe, {one.size:,} B", _AIM, one.ratio, most=True)
        for one in measured
        if one.at_once == 1
    ]
    console.print(aims(reached))


async def _all(home: Path, *, rounds: int) -> list[Measured]:
    measured = [Measured(size, at_once) for at_once in (1, _AT_ONCE) for size in _SIZES]
    blocking, looping = await Pipe.start(BLOCKING), await Pipe.start(LOOPING)
    try:
        async with hosted(home) as host:
            for one in measured:
                await _setting(one, host, blocking, looping=looping, rounds=rounds)
    finally:
        await blocking.stop()
        await looping.stop()
    return measured


async def _setting(one: Measured, host: Hosted, blocking: Pipe, *, looping: Pipe, rounds: int) -> None:
    payload = {"text": "x" * one.size}
    frame = wire.request(1, "handle", params=host.call("echo", payload).params())
    kinds: list[tuple[list[float], Send]] = [
        (one.calls, lambda: host.run("echo", payload)),
        (one.bare, lambda: blocking.send(frame)),
        (one.looping, lambda: looping.send(frame)),
    ]
    for _, send in kinds:  # until everything is warm
        await _round(send, at_once=one.at_once)
    for number in range(rounds):
        found = {}
        for kind, (times, send) in enumerate(kinds if number % 2 else reversed(kinds)):
            times += (took := await _round(send, at_once=one.at_once))
            found[kind if number % 2 else len(kinds) - 1 - kind] = statistics.median(took)
        one.ratios.append(found[0] / found[1])


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
