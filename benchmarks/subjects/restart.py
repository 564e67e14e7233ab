"""How a start goes that finds very many unfinished messages: when it accepts, and how new ones fare beside them."""

from __future__ import annotations

import shutil
import sqlite3
import statistics
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from benchmarks.filling import fill, samples
from benchmarks.load import Loaded, Loading, load
from benchmarks.servers import Server, daemon, journal_of, place
from benchmarks.tables import Aim, aims, figures

_MESSAGES = 100_000
_STARTS = 3
_CONNECTIONS, _PAUSE = 8, 0.05
_SECONDS = 5.0
_ACCEPTING, _WAIT_MS = 2.0, 250.0  # the second is our own: what a person hardly notices
_GIVEN_UP = 1800.0  # seconds


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds to the first 202 of each start, seconds until the backlog had gone, and new messages beside it and after."""

    accepting: list[float]
    backlog: float
    beside: Loaded
    after: Loaded


def measure(console: Console, full: bool) -> None:
    with place(sync="full") as home:
        found = samples(home)
        empty = _starts(home, journal_of(home), count=_STARTS)
        kept = home / "kept.db"
        shutil.copy(journal_of(home), kept)
        fill(kept, found, count=_MESSAGES, status="accepted")
        one = _restart(home, kept, starts=3 * _STARTS if full else _STARTS)
    accepting, usual = statistics.median(one.accepting), statistics.median(empty)
    method = (
        f"Sync full. From the start of the process to the first 202, median of {len(one.accepting)} (worst "
        f"{max(one.accepting):.2f} s; without a backlog {usual:.2f} s), the file in the page cache. New messages beside the "
        f"backlog: {_CONNECTIONS} connections that wait {_PAUSE:g} s between two messages to the same plugin, from "
        "sending to the whole record; the same for a while after it has gone."
    )
    headings = ["", "p50 ms", "p99 ms", "messages/s"]
    rows = [
        [name, f"{new.p50:.1f}", f"{new.p99:.1f}", f"{new.rps:.0f}"]
        for name, new in (("while it is worked off", one.beside), ("when it has gone", one.after))
    ]
    rate = _MESSAGES / one.backlog
    title = (
        f"New messages beside {_MESSAGES:,} unfinished ones, which took {one.backlog:.1f} s ({rate:.0f}/s)"
    )
    console.print(figures(title, headings, rows=rows, method=method))
    reached = [
        Aim("start to the first 202, s", _ACCEPTING, accepting, most=True),
        Aim("new messages beside the backlog, p99 ms", _WAIT_MS, one.beside.p99, most=True, form=".0f"),
    ]
    console.print(aims(reached))


def _restart(home: Path, kept: Path, *, starts: int) -> Measured:
    accepting = _starts(home, kept, count=starts - 1)
    _lay(home, kept)
    with daemon(home) as hermes:
        accepting.append(_first_accepted(hermes))
        loading = Loading(hermes, connections=_CONNECTIONS, pause=_PAUSE, seconds=_GIVEN_UP, warmup=0.0)
        _until_worked_off(journal_of(home))
        seconds = time.perf_counter() - hermes.began
        beside = loading.result(now=True)
        after = load(hermes, connections=_CONNECTIONS, pause=_PAUSE, seconds=_SECONDS)
    return Measured(accepting, seconds, beside, after)


def _starts(home: Path, kept: Path, *, count: int) -> list[float]:
    accepting = []
    for _ in range(count):
        _lay(home, kept)
        with daemon(home) as hermes:
            accepting.append(_first_accepted(hermes))
    return accepting


def _lay(home: Path, kept: Path) -> None:
    """Put a journal's file in its place, as if the daemon had been killed."""
    file = journal_of(home)
    if file != kept:
        for rest in (file, Path(f"{file}-wal"), Path(f"{file}-shm")):
            rest.unlink(missing_ok=True)
        shutil.copy(kept, file)


def _first_accepted(hermes: Server) -> float:
    status, answer = hermes.request("POST", "/v1/messages", body={"text": "echo hello 你好"})
    if status != 202:
        raise SystemExit(f"the daemon answered {status}: {answer[:500]!r}")
    return time.perf_counter() - hermes.began


def _until_worked_off(file: Path) -> None:
    deadline = time.monotonic() + _GIVEN_UP
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        unfinished = "SELECT 1 FROM messages WHERE finished_at IS NULL AND id <= ? LIMIT 1"
        while connection.execute(unfinished, (_MESSAGES,)).fetchone() is not None:
            if time.monotonic() > deadline:
                raise SystemExit("the backlog was not worked off")
            time.sleep(0.1)
