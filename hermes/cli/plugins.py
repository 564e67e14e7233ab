"""`hermes plugins`: what is loaded and how it is doing."""

from __future__ import annotations

from typing import Any

import click

from hermes.cli.client import Client
from hermes.cli.options import calls_daemon, json_option
from hermes.cli.terminal import local_time, print_json, print_table, print_text
from hermes.cli.text import one_line

_COLUMNS = ("NAME", "VERSION", "STATE", "SINCE", "HASH", "PIDS", "CALLS", "FAILURES", "BREAKER", "INTENTS")


@click.group("plugins")
def command() -> None:
    """Look at the plugins."""


@command.command("list")
@json_option
@calls_daemon
def list_plugins(client: Client, *, as_json: bool) -> None:
    """List all plugins, and why those that do not run do not."""
    answer = client.get("/v1/plugins")
    if as_json:
        print_json(answer)
        return
    print_table(_COLUMNS, [_row(plugin) for plugin in answer["items"]])
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
        " ".join(str(worker["pid"]) for worker in plugin["workers"]),
        plugin["calls"],
        plugin["failures"],
        plugin["breaker"]["state"],
        ", ".join(plugin["intents"]),
    )


def _last_error(name: str, error: dict[str, Any]) -> str:
    """Return a plugin's last error as `name: file:line: what is wrong (when)`."""
    where = ":".join(str(part) for part in (error["file"], error["line"]) if part is not None)
    parts = (name, where, one_line(error["message"]))
    return f"{': '.join(part for part in parts if part)} ({local_time(error['at'])})"
