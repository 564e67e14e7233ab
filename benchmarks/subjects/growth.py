"""Whether a journal with very many messages slows the daemon down: one with a million beside one with none."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

from rich.console import Console

from benchmarks.filling import fill, samples
from benchmarks.load import WAITED, load
from benchmarks.servers import Server, bare, daemon, journal_of, place
from benchmarks.tables import Aim, aims, figures

_MESSAGES = 1_000_000
_CONNECTIONS, _SECONDS, _WARMUP, _ROUNDS = 32, 1.0, 0.3, 9
_AIM = 0.9
_HEADINGS = (
    "ids of the load",
    "filled/empty",
    "bare/s",
    "empty/s",
    "filled/s",
    "empty/bare",
    "filled/bare",
    "empty µs",
    "filled µs",
)


@dataclass(frozen=True, slots=True)
class _Round:
    """Requests a second, and microseconds of processor time for each."""

    rps: float
    cpu_us: float


@dataclass(frozen=True, slots=True)
class Measured:
    """The rounds of each server under one kind of load."""

    ids: str
    rounds: dict[str, list[_Round]]

    @property
    def ratio(self) -> float:
        return self._against("filled", "empty")

    def cells(self) -> list[str]:
        rates = [f"{self._median(name):.0f}" for name in ("bare", "empty", "filled")]
        ratios = [f"{self._against(name, 'bare'):.3f}" for name in ("empty", "filled")]
        cpu = [
            f"{statistics.median(one.cpu_us for one in self.rounds[name]):.0f}"
            for name in ("empty", "filled")
        ]
        return [self.ids, f"{self.ratio:.3f}", *rates, *ratios, *cpu]

    def _median(self, name: str) -> float:
        return statistics.median(one.rps for one in self.rounds[name])

    def _against(self, name: str, other: str) -> float:
        both = zip(self.rounds[name], self.rounds[other], strict=True)
        return statistics.median(one.rps / two.rps for one, two in both)


def measure(console: Console, full: bool) -> None:
    rounds = 5 * _ROUNDS if full else _ROUNDS
    with place(sync="normal") as empty_home, place(sync="normal") as full_home:
        started = time.perf_counter()
        fill(journal_of(full_home), samples(full_home), count=_MESSAGES, status="ended")
        filled_in = time.perf_counter() - started
        size = journal_of(full_home).stat().st_size / 2**20
        with bare() as plain, daemon(empty_home) as empty, daemon(full_home) as filled:
            measured = [
                _in_turn(plain, empty, filled=filled, named=named, rounds=rounds) for named in (False, True)
            ]
    method = (
        f"Closed loop, normal, {_CONNECTIONS} connections, {rounds} rounds of {_SECONDS:g} s: bare server, then the two "
        f"daemons, each first in every other round; medians. Filled by SQL in {filled_in:.0f} s: {size:.0f} MiB of real "
        "messages under own ids, half of them random as clients choose them, 1 in 20 failed, sessions of 10. µs: processor time a message in the daemon."
    )
    rows = [one.cells() for one in measured]
    console.print(
        figures("Throughput with a full journal beside an empty one", _HEADINGS, rows=rows, method=method)
    )
    against = f"with {_MESSAGES:,} messages against none"
    console.print(aims([Aim(f"{against}, {one.ids} ids", _AIM, one.ratio) for one in measured]))


def _in_turn(plain: Server, empty: Server, *, filled: Server, named: bool, rounds: int) -> Measured:
    found: dict[str, list[_Round]] = {"bare": [], "empty": [], "filled": []}
    for server in (empty, filled):
        load(server, named=named)  # until every statement and worker is warm
    for number in range(rounds):
        found["bare"].append(_load(plain, named=named, path="/echo"))
        turn = [("empty", empty), ("filled", filled)]
        for name, server in turn if number % 2 else reversed(turn):
            found[name].append(_load(server, named=named))
    return Measured("clients'" if named else "Hermes' own", found)


def _load(server: Server, *, named: bool, path: str = WAITED) -> _Round:
    settings = {"connections": _CONNECTIONS, "seconds": _SECONDS, "warmup": _WARMUP}
    before = server.cpu_seconds()
    rps = load(server, path=path, named=named, **settings).rps
    spent = server.cpu_seconds() - before
    return _Round(rps, spent / (rps * (_SECONDS + _WARMUP)) * 1e6)
