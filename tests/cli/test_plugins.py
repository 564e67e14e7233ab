"""`hermes plugins list`: who is there, how it does, and why it does not."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.cli.command import Hermes
from tests.conftest import StartDaemon
from tests.support.daemon import Daemon, furnish, write_plugin
from tests.support.waiting import until


def test_each_plugin_is_a_line_with_what_an_operator_asks_for(hermes: Hermes, daemon: Daemon) -> None:
    row = until(lambda: daemon.plugin("gate") if daemon.plugin("gate")["workers"] else None)
    done = hermes("plugins", "list")
    assert done.code == 0
    header, *lines = done.lines
    assert " ".join(header.split()) == "NAME VERSION STATE SINCE HASH PIDS CALLS FAILURES BREAKER INTENTS"
    (line,) = [line for line in lines if line.startswith("gate ")]
    pid = row["workers"][0]["pid"]
    assert re.fullmatch(
        rf"gate +0\.0\.0 +ready +\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d  {row['hash']}  {pid} +\d+ +\d+  closed +"
        r"gate\.read, gate\.repeat, gate\.sign, gate\.write",
        line,
    )


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
