"""Whether the daemon's memory grows with the messages that have gone through it."""

from __future__ import annotations

from rich.console import Console

from benchmarks.load import load
from benchmarks.servers import daemon, memory_kib, place
from benchmarks.tables import Aim, aims, figures

_MESSAGES, _FULL = 50_000, 1_000_000
_POINTS, _CONNECTIONS = 10, 32
_AIM = 10.0


def measure(console: Console, full: bool) -> None:
    count = _FULL if full else _MESSAGES
    points: list[float] = []
    with place(sync="normal") as home, daemon(home) as hermes:
        idle = memory_kib(hermes.pid, "Rss") / 1024
        for _ in range(_POINTS):
            load(hermes, connections=_CONNECTIONS, count=count // _POINTS)
            points.append(memory_kib(hermes.pid, "Rss") / 1024)
    method = (
        f"Closed loop, normal, {_CONNECTIONS} connections; the load ends at each point, the daemon goes on. "
        f"{idle:.1f} MB before the first message. What is compared is the first point, by when all is warm."
    )
    headings = [f"{count // _POINTS * number:,}" for number in range(1, _POINTS + 1)]
    row = [f"{point:.1f}" for point in points]
    console.print(
        figures(f"RSS in MB after so many messages, {count:,} in all", headings, rows=[row], method=method)
    )
    drift = max((point - points[0] for point in points), key=abs)
    console.print(
        aims(
            [
                Aim(
                    "largest distance from the first point, MB, either way",
                    _AIM,
                    abs(drift),
                    most=True,
                    form=".1f",
                )
            ]
        )
    )
