"""How large the daemon is when it idles with the sample plugins, and how soon it accepts."""

from __future__ import annotations

import statistics

from rich.console import Console

from benchmarks.servers import SAMPLES, daemon, memory_kib, place, until_ready
from benchmarks.tables import Aim, aims

_STARTS = 5


def measure(console: Console, full: bool) -> None:
    starts = []
    with place(sync="full", plugins=SAMPLES) as home:
        for _ in range(3 * _STARTS if full else _STARTS):
            with daemon(home) as hermes:
                starts.append(hermes.started_in)
        with daemon(home) as hermes:
            until_ready(hermes)
            rss = memory_kib(hermes.pid, "Rss") / 1024
            workers = sorted(memory_kib(pid, "Pss") / 1024 for pid in hermes.children())
    shown = ", ".join(f"{worker:.1f}" for worker in workers)
    rows = [
        Aim("daemon idle, RSS MB", 60, rss, most=True, form=".1f"),
        Aim(f"each Python worker, PSS MB: {shown}; the largest", 15, workers[-1], most=True, form=".1f"),
        Aim(f"start to listening, s, median of {len(starts)}", 1, statistics.median(starts), most=True),
    ]
    console.print(aims(rows, title="Size and start, with the four sample plugins"))
