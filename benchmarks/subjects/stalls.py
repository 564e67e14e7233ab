"""Whether plugins that misbehave are felt by who has nothing to do with them: another plugin's calls, and control calls."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from benchmarks import trouble
from benchmarks.load import WAITED, Loaded, Loading
from benchmarks.servers import Server, bare, daemon, place, until_ready
from benchmarks.tables import Aim, aims, figures

_SECONDS, _FULL_SECONDS = 4.0, 30.0
_BEFORE = 1.0  # seconds that the trouble lasts before anything is measured
_CALM = 2.0  # seconds from one trouble to the next
_CONNECTIONS, _PAUSE = 2, 0.01
_AIM_MS = 250.0  # our own: what a person hardly notices
_HEADINGS = (
    "what goes on meanwhile",
    *(f"{who} {what}" for who in ("echo", "healthz", "bare") for what in ("p50 ms", "p99", "max")),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """What was felt while some plugins misbehaved."""

    what: str
    echo: Loaded
    healthz: Loaded
    bare: Loaded

    def cells(self) -> list[str]:
        found = (self.echo, self.healthz, self.bare)
        return [self.what, *(f"{time:.1f}" for one in found for time in (one.p50, one.p99, one.worst))]


def measure(console: Console, full: bool) -> None:
    seconds = _FULL_SECONDS if full else _SECONDS
    settings: list[tuple[str, Sequence[str]]] = [("nothing", ())]
    settings += [(name, (name,)) for name in trouble.NAMES]
    settings += [("all of these", trouble.NAMES), ("nothing again", ())]
    never = {
        "failure_threshold": 1_000_000
    }  # else the circuit breaker would end the trouble after three failures
    with bare() as plain, place(sync="normal", circuit_breaker=never) as home:
        trouble.lay(home)
        with daemon(home) as hermes:
            until_ready(hermes, but=(trouble.STORM,))
            measured = [
                _setting(what, hermes, plain=plain, home=home, names=names, seconds=seconds)
                for what, names in settings
            ]
    method = (
        f"Closed loops of {_CONNECTIONS} connections each, {_PAUSE * 1000:g} ms between two requests, {seconds:g} s: messages to "
        "the sample plugin echo, journaled at normal; GET /healthz of the daemon; the bare Starlette server, which tells what is "
        "the machine's share. Beside them the plugins named on the left are called without a pause (process-storm by 8 at a "
        "time, reload saved every second); endless-loop has a time limit of 1 s, memory-bomb may use 512 MB, progress-flood "
        "says 20 MB in 200,000 lines, huge-result returns 100 MB."
    )
    title = "Latency while other plugins misbehave"
    console.print(figures(title, _HEADINGS, rows=[one.cells() for one in measured], method=method))
    worst = measured[-2]
    reached = [
        Aim(f"{who} with {worst.what}, p99 ms", _AIM_MS, found.p99, most=True, form=".0f")
        for who, found in (("echo", worst.echo), ("healthz", worst.healthz))
    ]
    console.print(aims(reached))


def _setting(
    what: str, hermes: Server, *, plain: Server, home: Path, names: Sequence[str], seconds: float
) -> Measured:
    with trouble.made(hermes, home, names=names):
        time.sleep(_BEFORE)
        loads = [
            Loading(server, method=method, path=path, connections=_CONNECTIONS, pause=_PAUSE, seconds=seconds)
            for server, method, path in (
                (hermes, "POST", WAITED),
                (hermes, "GET", "/healthz"),
                (plain, "POST", "/echo"),
            )
        ]
        found = [loading.result() for loading in loads]
    time.sleep(_CALM)
    return Measured(what, *found)
