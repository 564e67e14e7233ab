"""`hermes plugins list`: what is loaded and how it is doing."""

from __future__ import annotations

import time
from typing import Any

import click

from hermes.cli.client import Client
from hermes.cli.options import calls_daemon, json_option
from hermes.cli.terminal import local_time, print_json, print_table, print_text
from hermes.cli.text import one_line

_COLUMNS = (
    *("NAME", "VERSION", "STATE", "SINCE", "HASH", "RUNTIME", "PIDS", "BREAKER", "CALLS", "FAILURES", "P50"),
    *("RELOADS", "INTENTS"),
)
_LEAST = (
    *("INTENTS", "RELOADS", "P50", "RUNTIME", "VERSION", "HASH", "FAILURES", "CALLS", "PIDS", "BREAKER"),
    "SINCE",
)
"""What leaves the table first where it is too wide."""


@click.command("list")
@json_option
@calls_daemon
def command(client: Client, *, as_json: bool) -> None:
    """List all plugins, and why those that do not run do not."""
    answer = client.get("/v1/plugins")
    if as_json:
        print_json(answer)
        return
    print_table(_COLUMNS, [_row(plugin) for plugin in answer["items"]], least=_LEAST)
    broken = [plugin for plugin in answer["items"] if plugin["last_error"]]
    if broken:
        print_text("")
    for plugin in broken:
        print_text(_last_error(plugin["name"], plugin["last_error"]))


def _row(plugin: dict[str, Any]) -> tuple[Any, ...]:
    return (
        plugin["name"],
        plugin["version"],
        plugin["state"],
        local_time(plugin["loaded_at"]),
        plugin["hash"],
        plugin["runtime"],
        ", ".join(_process(worker) for worker in plugin["workers"]),
        _breaker(plugin["breaker"]),
        plugin["calls"],
        plugin["failures"],
        _milliseconds(plugin["p50_ms"]),
        plugin["reloads"],
        ", ".join(plugin["intents"]),
    )


def _process(worker: dict[str, Any]) -> str:
    return f"{worker['pid']} ({worker['busy']} busy)" if worker["busy"] else str(worker["pid"])


def _breaker(breaker: dict[str, Any]) -> str:
    """Return the state of a breaker, and the time of day when an open one lets a call try again."""
    if breaker["retry_at"] is None:
        return str(breaker["state"])
    again = time.strftime("%H:%M:%S", time.localtime(breaker["retry_at"]))
    return f"{breaker['state']}, tries {again}"


def _milliseconds(value: float | None) -> str | None:
    return None if value is None else f"{value:.3g} ms"


def _last_error(name: str, error: dict[str, Any]) -> str:
    """Return a plugin's last error as `name: file:line: what is wrong (when)`."""
    where = ":".join(str(part) for part in (error["file"], error["line"]) if part is not None)
    parts = (name, where, one_line(error["message"]))
    return f"{': '.join(part for part in parts if part)} ({local_time(error['at'])})"
