"""How long it takes from the save of a plugin's file until its new code answers, and what of that is whose."""

from __future__ import annotations

import http.client
import itertools
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from random import uniform
from typing import Any

from rich.console import Console

from benchmarks.servers import Server, daemon, lay_plugin, log_lines, place
from benchmarks.tables import Aim, aims, figures

_NAME = "marked"
_CODE = 'MARK = "{mark}"\n\n\nasync def handle(message, context):\n    return {{"data": MARK}}\n'
_DEBOUNCE = 0.2  # seconds
_SAVES, _FULL_SAVES = 20, 100
_BETWEEN = (1.0, 1.5)  # seconds from new code to the next save
_WITHIN = 30.0  # seconds
_POLL = 0.002  # seconds between two calls
_AIM_MS = 400.0
_BARE_STARTS = 10
_STAGES = ("noticed", "copied", "worker ready", "swapped", "answered")
_HEADINGS = (
    *("reserve", "saves", "beyond the debounce, median ms", "slowest ms"),
    *(f"{stage} ms" for stage in _STAGES),
)


@dataclass(slots=True)
class Measured:
    """One setting: milliseconds beyond the debounce, of every save and, by stages, of what each took."""

    spares: int
    totals: list[float] = field(default_factory=list)
    stages: list[tuple[float, ...]] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.totals)

    def cells(self) -> list[str]:
        reserve = "one worker (default)" if self.spares else "none"
        shares = [statistics.median(column) for column in zip(*self.stages, strict=True)]
        times = [self.median, max(self.totals)]
        return [
            reserve,
            str(len(self.totals)),
            *(f"{one:.0f}" for one in times),
            *(f"{one:.1f}" for one in shares),
        ]


def measure(console: Console, full: bool) -> None:
    saves = _FULL_SAVES if full else _SAVES
    bare = statistics.median(_bare_start() for _ in range(_BARE_STARTS))
    measured = [_setting(1, saves=saves), _setting(0, saves=saves // 2)]
    method = (
        f"A daemon with one plugin and reload.debounce {_DEBOUNCE:g}: its file is overwritten with a new mark, then the plugin "
        f"is called again and again, {_POLL * 1000:g} ms apart, until it answers with the mark; {_BETWEEN[0]:g} to "
        f"{_BETWEEN[1]:g} s until the next save. Stages, medians: noticed is from the save to the first copied file, less the "
        "debounce; copied to the copy's final name; worker ready and swapped are lines of the log; answered is the first "
        f"new answer. A bare start of Python (-I -S -c pass) took {bare:.0f} ms in the same run."
    )
    rows = [one.cells() for one in measured]
    console.print(
        figures("Save to new code serving, beyond the debounce", _HEADINGS, rows=rows, method=method)
    )
    default = measured[0]
    what = f"save to new code serving beyond the debounce, median ms of {len(default.totals)}"
    console.print(aims([Aim(what, _AIM_MS, default.median, most=True, form=".0f")]))


def _setting(spares: int, *, saves: int) -> Measured:
    one = Measured(spares)
    reload, limits = {"debounce": _DEBOUNCE}, {"spare_workers": spares}
    with place(sync="normal", plugins=(), reload=reload, limits=limits) as home:
        file = lay_plugin(home, _NAME, code=_CODE.format(mark="0"), concurrency=16) / "plugin.py"
        with daemon(home) as hermes, closing(_Caller(hermes)) as caller:
            caller.until("0")
            for number in range(1, saves + 1):
                time.sleep(uniform(*_BETWEEN))
                saved = time.time()
                file.write_text(_CODE.format(mark=number))
                answered = caller.until(str(number))
                moments = [saved + _DEBOUNCE, *_moments(home), answered]
                one.totals.append((answered - moments[0]) * 1000)
                one.stages.append(tuple((end - start) * 1000 for start, end in itertools.pairwise(moments)))
    return one


def _moments(home: Path) -> Iterator[float]:
    """Yield when the version that serves was noticed, copied, had a worker, and was swapped in, in Unix seconds."""
    lines = log_lines(home)
    swapped = _last(lines, "plugin_reloaded")
    ready = _last(lines, "worker_ready", hash=swapped["hash"])
    copy = max(
        (home / "state" / "staged" / _NAME).glob(f"{swapped['hash']}-*"),
        key=lambda path: path.stat().st_ctime,
    )
    yield min(path.stat().st_ctime for path in copy.glob("*.*"))
    yield copy.stat().st_ctime
    yield _at(ready)
    yield _at(swapped)


def _last(lines: Sequence[dict[str, Any]], event: str, **wanted: str) -> dict[str, Any]:
    return next(line for line in reversed(lines) if {"event": event, **wanted}.items() <= line.items())


def _at(line: dict[str, Any]) -> float:
    return datetime.fromisoformat(line["time"]).timestamp()


class _Caller:
    """Calls the plugin over one connection."""

    def __init__(self, server: Server) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)

    def until(self, mark: str) -> float:
        """Call until this mark is the answer, and return when that came, in Unix seconds."""
        deadline = time.monotonic() + _WITHIN
        while time.monotonic() < deadline:
            if self._call() == mark:
                return time.time()
            time.sleep(_POLL)
        raise SystemExit(f"the code with mark {mark} never served")

    def _call(self) -> Any:
        body, headers = json.dumps({"intent": _NAME}), {"Content-Type": "application/json"}
        self._connection.request("POST", "/v1/messages?wait=20", body, headers)
        record = json.loads(self._connection.getresponse().read())
        if record.get("status") != "succeeded":
            raise SystemExit(f"a call failed meanwhile: {record}")
        return record["envelope"]["data"]

    def close(self) -> None:
        self._connection.close()


def _bare_start() -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True)
    return (time.perf_counter() - started) * 1000
