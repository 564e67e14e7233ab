"""What a call of a program costs, which is a process each, beside the same program started by plain posix_spawn."""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import uvloop
from rich.console import Console

from benchmarks.hosting import Hosted, hosted
from benchmarks.servers import lay_plugin, place
from benchmarks.tables import figures

_NAME = "trivial"
_SCRIPT = '#!/bin/sh\necho \'{"data": "done"}\'\n'
_ROUNDS, _FULL_ROUNDS = 15, 60
_CALLS = 20  # of each, a round
_AT_ONCE = 8
_READ = 1 << 16
_PYTHON = (sys.executable, "-I", "-S", "-c", "pass")


@dataclass(slots=True)
class Measured:
    """One setting: milliseconds a call, of every round."""

    at_once: int
    calls: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)
    started: list[float] = field(default_factory=list)

    def cells(self) -> list[str]:
        call, bare, started = map(statistics.median, (self.calls, self.bare, self.started))
        ratio = statistics.median(ours / theirs for ours, theirs in zip(self.calls, self.bare, strict=True))
        times = (f"{one:.2f}" for one in (call, bare, started, call - bare))
        return [str(self.at_once), f"{1000 / call:.0f}", f"{1000 / bare:.0f}", f"{ratio:.1f}", *times]


def measure(console: Console, full: bool) -> None:
    rounds = _FULL_ROUNDS if full else _ROUNDS
    with (
        place(sync="normal", plugins=()) as home,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        measured = runner.run(_all(home, rounds=rounds))
    method = (
        f"Host.run, no HTTP and no journal, on a plugin of runtime executable that is a shell script of one echo, {rounds} "
        f"rounds of {_CALLS} calls; in turn the same script by os.posix_spawn with pipes for stdin and stdout, read to the end "
        "and waited for, and a bare Python (-I -S -c pass) the same way, which is about what stands before the program to set "
        "its limits. Several at a time: time of the round by its calls. Medians; the ratio is the median of the rounds' own."
    )
    headings = (
        *("at a time", "calls/s", "bare/s", "ratio", "call ms", "bare ms", "a bare Python ms", "added ms"),
    )
    title = "A call of an executable, beside posix_spawn"
    console.print(figures(title, headings, rows=[one.cells() for one in measured], method=method))


async def _all(home: Path, *, rounds: int) -> list[Measured]:
    folder = lay_plugin(home, _NAME, code="", runtime="executable", command=["./run.sh"], concurrency=64)
    (folder / "plugin.py").unlink()
    script = folder / "run.sh"
    script.write_text(_SCRIPT)
    script.chmod(0o755)
    measured = [Measured(1), Measured(_AT_ONCE)]
    async with hosted(home) as host:
        for one in measured:
            await _calls(host, at_once=one.at_once)  # until everything is warm
            for _ in range(rounds):
                one.calls.append(await _calls(host, at_once=one.at_once))
                one.bare.append(_spawned([str(script)], at_once=one.at_once))
                one.started.append(_spawned([*_PYTHON], at_once=one.at_once))
    return measured


async def _calls(host: Hosted, *, at_once: int) -> float:
    """Return milliseconds a call."""
    started = time.perf_counter()
    for _ in range(_CALLS // at_once):
        await asyncio.gather(*(host.run(_NAME, {"text": "x"}) for _ in range(at_once)))
    return (time.perf_counter() - started) / (_CALLS // at_once * at_once) * 1000


def _spawned(command: list[str], *, at_once: int) -> float:
    """Return milliseconds a process."""
    started = time.perf_counter()
    for _ in range(_CALLS // at_once):
        for pid, out in [_spawn(command) for _ in range(at_once)]:
            while os.read(out, _READ):
                continue
            os.close(out)
            os.waitpid(pid, 0)
    return (time.perf_counter() - started) / (_CALLS // at_once * at_once) * 1000


def _spawn(command: list[str]) -> tuple[int, int]:
    """Start a process with nothing on its stdin, and return its pid and where its stdout comes out."""
    given, stdin = os.pipe()
    out, stdout = os.pipe()
    actions = [
        (os.POSIX_SPAWN_DUP2, given, 0),
        (os.POSIX_SPAWN_DUP2, stdout, 1),
    ]
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
    for descriptor in (given, stdin, stdout):
        os.close(descriptor)
    return pid, out
