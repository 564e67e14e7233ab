"""`make bench`: measures the daemon beside something bare in the same run, and prints ratios with the method."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table

from benchmarks.disk import rows_per_second
from benchmarks.load import Load
from benchmarks.subjects import ROOT, Subject, bare, daemon, memory_kib

_BODY = json.dumps({"text": "echo hello 你好"}, ensure_ascii=False)
_SECONDS, _WARMUP, _ROUNDS = 2.0, 0.5, 3
_PLUGINS = ["echo", "system-status", "gitlab-pipeline", "sqlite-query"]
_STARTS = 5


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


def load(subject: Subject, path: str, *, connections: int) -> dict[str, float]:
    """Load a server from a process of its own."""
    settings = Load(subject.port, path, _BODY, connections, _SECONDS, _WARMUP)
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.load", json.dumps(asdict(settings))],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"the load failed: {done.stderr}")
    result: dict[str, float] = json.loads(done.stdout)
    return result


def measure(sync: str, connections: int) -> Measured:
    """Measure daemon and bare server in turn, several rounds, so that a machine that drifts does so for both."""
    rounds: list[tuple[dict[str, float], dict[str, float]]] = []
    with bare() as plain, daemon(["echo"], sync=sync) as hermes:
        # Until every statement and worker is warm.
        load(hermes, "/v1/messages?wait=5", connections=connections)
        before = _counters(hermes)
        sent = 0.0
        for _ in range(_ROUNDS):
            theirs = load(plain, "/echo", connections=connections)
            ours = load(hermes, "/v1/messages?wait=5", connections=connections)
            rounds.append((theirs, ours))
            sent += ours["rps"] * (_SECONDS + _WARMUP)
        after = _counters(hermes)
    spent = {name: after[name] - before[name] for name in after}
    return Measured(
        ratio=statistics.median(ours["rps"] / theirs["rps"] for theirs, ours in rounds),
        rps=statistics.median(ours["rps"] for _, ours in rounds),
        bare_rps=statistics.median(theirs["rps"] for theirs, _ in rounds),
        p50=statistics.median(ours["p50_ms"] for _, ours in rounds),
        bare_p50=statistics.median(theirs["p50_ms"] for theirs, _ in rounds),
        commit_ms=spent["commit_seconds"] / spent["commits"] * 1000,
        rows_per_commit=spent["rows"] / spent["commits"],
        daemon_cpu_us=spent["daemon"] / sent * 1e6,
        writer_cpu_us=spent["writer"] / sent * 1e6,
        worker_cpu_us=spent["worker"] / sent * 1e6,
    )


def _counters(hermes: Subject) -> dict[str, float]:
    threads = hermes.thread_cpu_seconds()
    return {
        "commit_seconds": hermes.metric("hermes_journal_commit_seconds_sum"),
        "commits": hermes.metric("hermes_journal_commit_seconds_count"),
        "rows": hermes.metric("hermes_journal_entries_total"),
        "daemon": hermes.cpu_seconds(),
        # The main thread has the process's own id; of the rest only the journal's writer works under load.
        "writer": sum(seconds for name, seconds in threads.items() if not name.endswith(f"-{hermes.pid}")),
        "worker": sum(Subject(pid, 0).cpu_seconds() for pid in hermes.children()),
    }


def report(console: Console) -> None:
    """Measure everything and print it."""
    busy = {
        (sync, n): measure(sync, n)
        for sync, n in (("normal", 1), ("normal", 32), ("full", 32), ("full", 256))
    }
    busy["normal", 256] = measure("normal", 256)
    console.print(_throughput(busy))
    console.print(_aims(busy))
    console.print(_sizes())


def _throughput(busy: dict[tuple[str, int], Measured]) -> Table:
    table = Table(
        title="POST /v1/messages?wait=5 to echo, beside a bare Starlette + uvicorn echo of the same body"
    )
    headings = (
        "sync",
        "connections",
        "ratio",
        "messages/s",
        "bare/s",
        "p50 ms",
        "bare p50",
        "commit ms",
        "rows/commit",
    )
    for heading in (*headings, "daemon µs", "of it writer µs", "worker µs"):
        table.add_column(heading, justify="right")
    for (sync, connections), one in busy.items():
        numbers = (
            one.ratio,
            one.rps,
            one.bare_rps,
            one.p50,
            one.bare_p50,
            one.commit_ms,
            one.rows_per_commit,
        )
        forms = (".2f", ".0f", ".0f", ".2f", ".2f", ".3f", ".1f")
        cells = [format(number, form) for number, form in zip(numbers, forms, strict=True)]
        cpu = [f"{number:.0f}" for number in (one.daemon_cpu_us, one.writer_cpu_us, one.worker_cpu_us)]
        table.add_row(sync, str(connections), *cells, *cpu)
    table.caption = (
        f"Closed loop from one more process, {_ROUNDS} rounds of {_SECONDS:g} s, bare and daemon in turn; medians. "
        "Journal: two entries a message, the time of a commit as the writer measures it. µs: processor time a message."
    )
    return table


def _aims(busy: dict[tuple[str, int], Measured]) -> Table:
    table = Table(title="Aims")
    for heading in ("what", "aim", "measured", "met"):
        table.add_column(heading)
    full, normal, single = busy["full", 256], busy["normal", 256], busy["normal", 1]
    raw = rows_per_second(max(1, round(full.rows_per_commit)), seconds=3.0) / 2  # two rows a message
    floor = min(raw, normal.rps)
    added = single.p50 - single.bare_p50 - 2 * single.commit_ms
    rows = [
        ("throughput, normal, 32 connections, against bare", "≥ 0.50", busy["normal", 32].ratio, 0.5, ">="),
        (
            f"throughput, full, 256, against the smaller of raw sqlite3 ({raw:.0f}/s) and normal ({normal.rps:.0f}/s)",
            "≥ 0.80",
            full.rps / floor,
            0.8,
            ">=",
        ),
        ("added p50 ms at 1 connection, beyond bare and two commits", "≤ 0.60", added, 0.6, "<="),
    ]
    for what, aim, measured, limit, sign in rows:
        met = measured >= limit if sign == ">=" else measured <= limit
        table.add_row(what, aim, f"{measured:.2f}", "yes" if met else "NO")
    return table


def _sizes() -> Table:
    table = Table(title="Size and start, with the four sample plugins")
    for heading in ("what", "aim", "measured", "met"):
        table.add_column(heading)
    starts = []
    for _ in range(_STARTS):
        with daemon(_PLUGINS, sync="full") as hermes:
            starts.append(hermes.started_in)
    with daemon(_PLUGINS, sync="full") as hermes:
        _until_idle(hermes)
        rss = memory_kib(hermes.pid, "Rss") / 1024
        workers = [memory_kib(pid, "Pss") / 1024 for pid in hermes.children()]
    start = statistics.median(starts)
    table.add_row("daemon idle, RSS MB", "≤ 60", f"{rss:.1f}", "yes" if rss <= 60 else "NO")
    largest = max(workers)
    shown = ", ".join(f"{worker:.1f}" for worker in sorted(workers))
    table.add_row("each Python worker, PSS MB", "≤ 15", shown, "yes" if largest <= 15 else "NO")
    table.add_row(
        f"start to accepting, s, median of {_STARTS}", "≤ 1.0", f"{start:.2f}", "yes" if start <= 1 else "NO"
    )
    return table


def _until_idle(hermes: Subject) -> None:
    for _ in range(600):
        plugins = json.loads(hermes.get("/v1/plugins"))["items"]
        if all(plugin["workers"] for plugin in plugins):
            return
    raise SystemExit("some workers did not start")


if __name__ == "__main__":
    report(Console(width=160))
