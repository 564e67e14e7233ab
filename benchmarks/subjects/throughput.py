"""How many messages a second, and what each costs: the daemon beside a bare server, at both kinds of safety."""

from __future__ import annotations

import statistics
import time
from contextlib import closing
from dataclasses import dataclass
from typing import Literal

from rich.console import Console

from benchmarks.disk import Raw
from benchmarks.filling import Rows, own_id, samples
from benchmarks.load import Loaded, load
from benchmarks.servers import Server, bare, daemon, journal_of, place
from benchmarks.tables import Aim, aims, figures

_SECONDS, _WARMUP, _ROUNDS = 2.0, 0.5, 3
_RAW_ROWS = 100_000
_HEADINGS = "sync connections ratio messages/s bare/s p50_ms bare_p50 commit_ms rows/commit daemon_µs of_it_writer_µs worker_µs"


@dataclass(frozen=True, slots=True)
class Measured:
    """One setting: medians over the rounds; times in milliseconds, processor time in microseconds a message."""

    ratio: float
    rps: float
    bare_rps: float
    p50: float
    bare_p50: float
    commit_ms: float
    rows_per_commit: float
    daemon_cpu_us: float
    writer_cpu_us: float
    worker_cpu_us: float


def measure(console: Console, full: bool) -> None:
    rounds = 3 * _ROUNDS if full else _ROUNDS
    busy = {
        (sync, connections): _setting(sync, connections, rounds=rounds)
        for sync, connections in (("normal", 1), ("normal", 32), ("normal", 256), ("full", 32), ("full", 256))
    }
    method = (
        f"Closed loop from one more process, {rounds} rounds of {_SECONDS:g} s, bare and daemon in turn; medians. "
        "Journal: two entries a message, the time of a commit as the writer measures it. µs: processor time a message."
    )
    title = "POST /v1/messages?wait to echo, beside a bare Starlette + uvicorn echo of the same body"
    headings = [heading.replace("_", " ") for heading in _HEADINGS.split()]
    rows = [[sync, str(connections), *_cells(one)] for (sync, connections), one in busy.items()]
    console.print(figures(title, headings, rows=rows, method=method))
    console.print(_aims(busy))


def _setting(sync: Literal["full", "normal"], connections: int, *, rounds: int) -> Measured:
    """Measure daemon and bare server in turn, several rounds, so that a machine that drifts does so for both."""
    both: list[tuple[Loaded, Loaded]] = []
    with bare() as plain, place(sync=sync) as home, daemon(home) as hermes:
        load(hermes, connections=connections)  # until every statement and worker is warm
        before = _counters(hermes)
        sent = 0.0
        for _ in range(rounds):
            theirs = load(plain, path="/echo", connections=connections, seconds=_SECONDS, warmup=_WARMUP)
            ours = load(hermes, connections=connections, seconds=_SECONDS, warmup=_WARMUP)
            both.append((theirs, ours))
            sent += ours.rps * (_SECONDS + _WARMUP)
        after = _counters(hermes)
    spent = {name: after[name] - before[name] for name in after}
    return Measured(
        ratio=statistics.median(ours.rps / theirs.rps for theirs, ours in both),
        rps=statistics.median(ours.rps for _, ours in both),
        bare_rps=statistics.median(theirs.rps for theirs, _ in both),
        p50=statistics.median(ours.p50 for _, ours in both),
        bare_p50=statistics.median(theirs.p50 for theirs, _ in both),
        commit_ms=spent["commit_seconds"] / spent["commits"] * 1000,
        rows_per_commit=spent["rows"] / spent["commits"],
        daemon_cpu_us=spent["daemon"] / sent * 1e6,
        writer_cpu_us=spent["writer"] / sent * 1e6,
        worker_cpu_us=spent["worker"] / sent * 1e6,
    )


def _counters(hermes: Server) -> dict[str, float]:
    threads = hermes.thread_cpu_seconds()
    return {
        "commit_seconds": hermes.metric("hermes_journal_commit_seconds_sum"),
        "commits": hermes.metric("hermes_journal_commit_seconds_count"),
        "rows": hermes.metric("hermes_journal_entries_total"),
        "daemon": hermes.cpu_seconds(),
        # The main thread has the process's own id; of the rest only the journal's writer works under load.
        "writer": sum(seconds for name, seconds in threads.items() if not name.endswith(f"-{hermes.pid}")),
        "worker": sum(Server(pid, 0).cpu_seconds() for pid in hermes.children()),
    }


def _cells(one: Measured) -> list[str]:
    numbers = (one.ratio, one.rps, one.bare_rps, one.p50, one.bare_p50, one.commit_ms, one.rows_per_commit)
    forms = (".2f", ".0f", ".0f", ".2f", ".2f", ".3f", ".1f")
    cpu = (one.daemon_cpu_us, one.writer_cpu_us, one.worker_cpu_us)
    return [f"{number:{form}}" for number, form in zip(numbers, forms, strict=True)] + [
        f"{number:.0f}" for number in cpu
    ]


def _aims(busy: dict[tuple[str, int], Measured]) -> object:
    full, normal, single = busy["full", 256], busy["normal", 256], busy["normal", 1]
    raw = _raw_rows(max(1, round(full.rows_per_commit))) / 2  # two rows a message
    against = f"the smaller of raw sqlite3 ({raw:.0f}/s) and normal ({normal.rps:.0f}/s)"
    added = single.p50 - single.bare_p50 - 2 * single.commit_ms
    return aims(
        [
            Aim("throughput, normal, 32 connections, against bare", 0.5, busy["normal", 32].ratio),
            Aim(f"throughput, full, 256, against {against}", 0.8, full.rps / min(raw, normal.rps)),
            Aim("added p50 ms at 1 connection, beyond bare and two commits", 0.6, added, most=True),
        ]
    )


def _raw_rows(rows_per_commit: int) -> float:
    with place(sync="full") as home:
        rows = Rows(samples(home).succeeded, named=False)
        raw = Raw(
            journal_of(home), lambda number: rows.row(number, at=time.time(), session=own_id(time.time()))
        )
        with closing(raw):
            return _RAW_ROWS / raw.write(_RAW_ROWS // rows_per_commit, rows=rows_per_commit)
