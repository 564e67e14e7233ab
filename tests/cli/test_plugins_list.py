"""`hermes plugins list`: who is there, how it does, and why it does not."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from tests.cli.command import Hermes
from tests.cli.scripted import Scripted
from tests.conftest import StartDaemon
from tests.support.daemon import Daemon, furnish, write_plugin
from tests.support.waiting import until

COLUMNS = "NAME VERSION STATE SINCE HASH RUNTIME PIDS BREAKER CALLS FAILURES P50 RELOADS INTENTS"
AT = 1796049543.5
_escape = re.compile(r"\x1b\[[0-9;]*m")


def row(name: str, **members: Any) -> dict[str, Any]:
    """Return a plugin as the daemon lists it."""
    return {
        "name": name,
        "version": "1.0.0",
        "hash": "0123456789abcdef",
        "state": "ready",
        "runtime": "python",
        "intents": [f"{name}.do"],
        "loaded_at": AT,
        "last_error": None,
        "breaker": {"state": "closed", "failures": 0, "retry_at": None},
        "workers": [{"pid": 4711, "busy": 0, "rss_bytes": 1, "since": AT}],
        "queue_depth": 0,
        "calls": 12,
        "failures": 1,
        "p50_ms": 1.2345,
        "p95_ms": 2.0,
        "reloads": 3,
    } | members


def listed(scripted: Scripted, *rows: dict[str, Any]) -> str:
    """Let a server have these plugins, and return its address."""
    scripted.say_json({"items": rows, "next": None})
    return scripted.start()


def test_each_plugin_is_a_line_with_what_an_operator_asks_for(hermes: Hermes, daemon: Daemon) -> None:
    row = until(lambda: daemon.plugin("gate") if daemon.plugin("gate")["workers"] else None)
    done = hermes("plugins", "list")
    assert done.code == 0
    header, *lines = done.lines
    assert " ".join(header.split()) == COLUMNS
    (line,) = [line for line in lines if line.startswith("gate ")]
    pid = row["workers"][0]["pid"]
    assert re.fullmatch(
        rf"gate +0\.0\.0 +ready +\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d  {row['hash']}  python +{pid} +closed +\d+ +\d+"
        r"  (–|[\d.e+]+ ms) +\d+  gate\.read, gate\.repeat, gate\.sign, gate\.write",
        line,
    )


def test_busy_processes_and_an_open_breaker_are_told(lonely: Hermes, scripted: Scripted) -> None:
    retry_at = 1796049600.2
    url = listed(
        scripted,
        row(
            "echo",
            workers=[{"pid": 11, "busy": 2}, {"pid": 12, "busy": 0}],
            breaker={"state": "open", "failures": 3, "retry_at": retry_at},
        ),
        row("half", breaker={"state": "half_open", "failures": 3, "retry_at": None}, p50_ms=None),
    )
    _, echo, half = lonely("plugins", "list", HERMES_URL=url, TZ="UTC").lines
    again = time.strftime("%H:%M:%S", time.gmtime(retry_at))
    assert f"  11 (2 busy), 12  open, tries {again}  " in echo
    assert re.search(r"  4711 +half_open +12 +1  – +3  half\.do$", half)


@pytest.mark.parametrize("columns", [40, 80, 100, 132])
def test_on_a_terminal_no_line_is_wider_than_it_and_nothing_is_left_out(
    scripted: Scripted, tmp_path: Path, columns: int
) -> None:
    intents = ["网站.流水线.状态", "ci.pipeline.status", "ci.pipeline.retry", "ci.jobs.of.a.pipeline"]
    url = listed(
        scripted,
        row("gitlab-pipeline", intents=intents),
        row("流水线", hash="fedcba9876543210", runtime="process", workers=[], reloads=70),
    )
    shown = Hermes(tmp_path, HERMES_URL=url).on_terminal("plugins", "list", columns=columns)
    lines = _escape.sub("", shown).replace("\r", "").splitlines()
    assert [line for line in lines if cell_len(line) > columns] == []
    assert lines[0].startswith("NAME ")
    (second,) = [number for number, line in enumerate(lines) if line.startswith("流水线 ")]
    first = " ".join(lines[1:second])
    for cell in (
        "gitlab-pipeline",
        "1.0.0",
        "ready",
        "0123456789abcdef",
        "python",
        "4711",
        "closed",
        *intents,
    ):
        assert re.search(rf"(^|\s){re.escape(cell)},?($|\s)", first), cell
    for cell in ("fedcba9876543210", "process", "1.23 ms", "70"):
        assert cell in " ".join(lines[second:])


def test_what_does_not_run_is_told_with_file_and_line(
    lonely: Hermes, start_daemon: StartDaemon, tmp_path: Path
) -> None:
    furnish(tmp_path)
    write_plugin(tmp_path, "typo", "import asyncio\n\nasync def handle(message, context)\n    return 1\n")
    write_plugin(tmp_path, "clumsy", "async def handle(m, c): return 1\n", timeout="soon")
    daemon = start_daemon()
    until(lambda: daemon.plugin("typo")["state"] == "failed")
    done = lonely("plugins", "list", HERMES_URL=daemon.url)
    states = {line.split()[0]: line.split()[2] for line in done.lines[1:3]}
    assert states == {"clumsy": "failed", "typo": "failed"}
    clumsy, typo = done.lines[4:]
    assert re.match(r"clumsy: manifest\.json:1: timeout: must be a number; it is \"soon\" \(\d{4}-", clumsy)
    assert re.match(r"typo: plugin\.py:3: SyntaxError: expected ':' \(\d{4}-", typo)


def test_json_is_what_the_daemon_says(hermes: Hermes, daemon: Daemon) -> None:
    answer = json.loads(hermes("plugins", "list", "--json").out)
    assert {row["name"] for row in answer["items"]} == {
        row["name"] for row in daemon.get("/v1/plugins").json["items"]
    }
    assert answer["next"] is None


def test_a_daemon_without_plugins_has_an_empty_list(lonely: Hermes, start_daemon: StartDaemon) -> None:
    done = lonely("plugins", "list", HERMES_URL=start_daemon().url)
    assert (done.code, len(done.lines)) == (0, 1)
