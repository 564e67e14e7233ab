"""What fifty plugins cost: until messages are accepted, until all workers are up, and when nothing happens."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from benchmarks.servers import Server, daemon, lay_plugin, log_lines, memory_kib, place
from benchmarks.tables import Aim, aims, figures

_PLUGINS = 50
_CODE = 'async def handle(message, context):\n    return {"data": message["payload"]}\n'
_STARTS, _FULL_STARTS = 5, 15
_IDLE, _FULL_IDLE = 30.0, 120.0  # seconds; every 30 the daemon looks at all plugins
_CALM = 2.0  # seconds from the last worker's start
_READY_WITHIN = 120.0  # seconds
_ACCEPTING, _IDLE_PERCENT, _PSS_MB = 1.5, 1.0, 15.0


@dataclass(frozen=True, slots=True)
class Start:
    """Seconds from the start of the process until it listened and until the first message was accepted."""

    listening: float
    accepted: float


@dataclass(frozen=True, slots=True)
class Idle:
    """The daemon with all workers up: seconds until then, percent of one processor, sizes in MB."""

    ready: float
    daemon_percent: float
    workers_percent: float
    rss: float
    pss: list[float]


def measure(console: Console, full: bool) -> None:
    starts, bare = [], []
    with place(sync="full", plugins=()) as home, place(sync="full", plugins=()) as empty:
        for number in range(_PLUGINS):
            _lay(home, number)
        for _ in range(_FULL_STARTS if full else _STARTS):
            starts.append(_start(home))
            bare.append(_start(empty).accepted)
        idle = _idle(home, seconds=_FULL_IDLE if full else _IDLE)
    accepted = statistics.median(one.accepted for one in starts)
    listening = statistics.median(one.listening for one in starts)
    method = (
        f"{_PLUGINS} Python plugins of one worker each, with keywords and parameters, sync full. Median of {len(starts)} starts, "
        f"the worst {max(one.accepted for one in starts):.2f} s; with no plugin, in turn, the first message was accepted "
        f"after {statistics.median(bare):.2f} s. Then, {_CALM:g} s after the last worker was ready, processor time for as long as it says and at "
        "least one look at all plugins, in percent of one processor; workers: all of them together."
    )
    headings = (
        *("listening s", "first 202 s", "all workers ready s", "idle daemon %", "idle workers %"),
        *("daemon RSS MB", "worker PSS MB, median", "largest", "all workers PSS MB"),
    )
    times = (listening, accepted, idle.ready, idle.daemon_percent, idle.workers_percent)
    sizes = (idle.rss, statistics.median(idle.pss), max(idle.pss), sum(idle.pss))
    row = [*(f"{one:.2f}" for one in times), *(f"{one:.1f}" for one in sizes)]
    console.print(figures(f"{_PLUGINS} plugins", headings, rows=[row], method=method))
    percent = idle.daemon_percent + idle.workers_percent
    reached = [
        Aim("start of the process to the first 202, s", _ACCEPTING, accepted, most=True),
        Aim("idle, daemon and workers, percent of one processor", _IDLE_PERCENT, percent, most=True),
        Aim("each worker, PSS MB, the largest", _PSS_MB, max(idle.pss), most=True, form=".1f"),
    ]
    console.print(aims(reached))


def _lay(home: Path, number: int) -> None:
    """Write a plugin as they usually are: some keywords, some parameters."""
    name = f"plugin-{number:02}"
    intent = {
        "name": f"{name}.run",
        "description": f"Do what number {number} is there for",
        "keywords": {f"number{number}": 0.9, f"word{number} and another": 0.8, f"第{number}号": 0.9},
        "examples": [f"number{number} please"],
        "parameters": {
            "type": "object",
            "properties": {
                "text": {"type": "string"},
                "count": {"type": "integer", "minimum": 0, "maximum": 20},
            },
        },
        "writes": False,
    }
    lay_plugin(home, name, code=_CODE, intents=[intent], version="1.0.0")


def _start(home: Path) -> Start:
    with daemon(home) as hermes:
        return Start(hermes.started_in, _first_accepted(hermes))


def _first_accepted(hermes: Server) -> float:
    status, answer = hermes.request("POST", "/v1/messages", body={"text": "number7 please"})
    if status != 202:
        raise SystemExit(f"the daemon answered {status}: {answer[:500]!r}")
    return time.perf_counter() - hermes.began


def _idle(home: Path, *, seconds: float) -> Idle:
    with daemon(home) as hermes:
        ready = _until_ready(hermes, home)
        time.sleep(_CALM)
        workers = [Server(pid, 0) for pid in hermes.children()]
        if len(workers) < _PLUGINS:
            raise SystemExit(f"{len(workers)} processes run for {_PLUGINS} plugins")
        before = hermes.cpu_seconds(), sum(one.cpu_seconds() for one in workers)
        time.sleep(seconds)
        after = hermes.cpu_seconds(), sum(one.cpu_seconds() for one in workers)
        spent = [(end - start) / seconds * 100 for start, end in zip(before, after, strict=True)]
        rss = memory_kib(hermes.pid, "Rss") / 1024
        pss = [memory_kib(one.pid, "Pss") / 1024 for one in workers]
    return Idle(ready, spent[0], spent[1], rss, pss)


def _until_ready(hermes: Server, home: Path) -> float:
    """Return the seconds from the start of the process until every plugin had a worker."""
    deadline = time.monotonic() + _READY_WITHIN
    while time.monotonic() < deadline:
        if sum(line["event"] == "worker_ready" for line in log_lines(home)) >= _PLUGINS:
            return time.perf_counter() - hermes.began
        time.sleep(0.02)
    raise SystemExit("some workers did not start")
