"""How many new messages a second the journal makes safe, beside plain sqlite3 that commits as many rows at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvloop
from rich.console import Console

from benchmarks.disk import Raw
from benchmarks.filling import Rows, own_id, samples
from benchmarks.servers import journal_of, place
from benchmarks.tables import Aim, aims, figures
from hermes.journal.base import Entry
from hermes.journal.sqlite import SqliteJournal

_SECONDS, _FULL_SECONDS = 12.0, 60.0
_TURNS = 10  # appends of each sender before it is the other's turn
_AIM = 0.8
_HEADINGS = ("ids", "senders", "ratio", "appends/s", "raw/s", "rows/commit", "commit ms")


@dataclass(frozen=True, slots=True)
class Measured:
    """One setting, over all turns; rates are a second."""

    senders: int
    named: bool
    appends: float
    raw: float
    rows_per_commit: float
    commit_ms: float

    @property
    def ratio(self) -> float:
        return self.appends / self.raw

    def cells(self) -> list[str]:
        numbers = (self.ratio, self.appends, self.raw, self.rows_per_commit, self.commit_ms)
        forms = (".2f", ".0f", ".0f", ".1f", ".2f")
        ids = "a client's" if self.named else "Hermes' own"
        return [ids, str(self.senders), *(f"{one:{form}}" for one, form in zip(numbers, forms, strict=True))]


def measure(console: Console, full: bool) -> None:
    seconds = _FULL_SECONDS if full else _SECONDS
    settings = [(32, False), (256, False), (32, True), (256, True)] if full else [(32, False), (256, False)]
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        measured = [
            runner.run(_setting(senders, named=named, seconds=seconds)) for senders, named in settings
        ]
    method = (
        f"In one process, under uvloop, sync full, {seconds:g} s: so many senders hand in their next entry when the last "
        f"is safe, {_TURNS} times; then as many rows, as many a commit, by plain sqlite3 (BEGIN, executemany, COMMIT) with "
        "the same schema and indexes in a file beside it; and so on in turn."
    )
    console.print(
        figures(
            "Durable appends, beside raw sqlite3",
            _HEADINGS,
            rows=[one.cells() for one in measured],
            method=method,
        )
    )
    reached = [
        Aim(f"durable appends against raw sqlite3, {one.senders} senders", _AIM, one.ratio)
        for one in measured
        if not one.named
    ]
    console.print(aims(reached))


async def _setting(senders: int, *, named: bool, seconds: float) -> Measured:
    with place(sync="full") as home:
        rows = Rows(samples(home).unfinished(), named=named)
        session = own_id(time.time())

        def row(number: int) -> list[Any]:
            return rows.row(number, at=time.time(), session=session)

        commits: list[tuple[float, int]] = []
        journal = await _open(journal_of(home), commits)
        try:
            await (await _open(home / "raw.db", [])).close()  # for its schema
            with closing(Raw(home / "raw.db", row)) as raw:
                ours, theirs = await _in_turn(journal, raw, row=row, senders=senders, seconds=seconds)
        finally:
            await journal.close()
    entries = sum(count for _, count in commits)
    return Measured(
        senders,
        named,
        appends=entries / ours,
        raw=entries / theirs,
        rows_per_commit=entries / len(commits),
        commit_ms=sum(took for took, _ in commits) / len(commits) * 1000,
    )


async def _open(file: Path, commits: list[tuple[float, int]]) -> SqliteJournal:
    journal = SqliteJournal(file, sync="full", on_commit=lambda *commit: commits.append(commit))
    await journal.open()
    return journal


async def _in_turn(
    journal: SqliteJournal, raw: Raw, *, row: Callable[[int], list[Any]], senders: int, seconds: float
) -> tuple[float, float]:
    """Return the seconds that the journal took, and plain sqlite3 for the same rows."""

    async def send() -> None:
        for _ in range(_TURNS):
            await journal.append(Entry(*row(journal.next_id())))

    ours = theirs = 0.0
    while ours + theirs < seconds:
        started = time.perf_counter()
        await asyncio.gather(*(send() for _ in range(senders)))
        ours += time.perf_counter() - started
        theirs += raw.write(_TURNS, rows=senders)
    return ours, theirs
