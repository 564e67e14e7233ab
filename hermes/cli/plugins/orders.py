"""`hermes plugins reload|disable|enable`: tell a daemon what to do with a plugin that it has."""

from __future__ import annotations

import urllib.parse
from typing import Any

import click

from hermes.cli.client import Client
from hermes.cli.options import calls_daemon, json_option, sendable
from hermes.cli.terminal import print_json, print_text
from hermes.cli.text import one_line

_PATIENCE = (
    75.0  # seconds: a worker may take 30 to be ready, and a new version may come before this one serves
)

_name = click.argument("name", type=sendable)


@click.command("reload")
@_name
@json_option
@calls_daemon
def reload(client: Client, *, name: str, as_json: bool) -> None:
    """Load plugin NAME anew, changed or not, and say what serves then.

    If it cannot be loaded the old version serves on, and the exit code is 1.
    """
    _order(client, name, verb="reload", as_json=as_json)


@click.command("disable")
@_name
@json_option
@calls_daemon
def disable(client: Client, *, name: str, as_json: bool) -> None:
    """Let plugin NAME take no calls until it is enabled, restarts of the daemon included."""
    _order(client, name, verb="disable", as_json=as_json)


@click.command("enable")
@_name
@json_option
@calls_daemon
def enable(client: Client, *, name: str, as_json: bool) -> None:
    """Let plugin NAME take calls again, with its files as they are now."""
    _order(client, name, verb="enable", as_json=as_json)


def _order(client: Client, name: str, *, verb: str, as_json: bool) -> None:
    path = f"/v1/plugins/{urllib.parse.quote(name, safe='')}/{verb}"
    row = client.post(path, within=_PATIENCE)
    if as_json:
        print_json(row)
    else:
        print_text(one_line(_told(row)))


def _told(row: dict[str, Any]) -> str:
    """Return what became of a plugin as one sentence."""
    name = row["name"]
    if row["state"] == "disabled":
        return f"{name} is disabled and takes no calls; hermes plugins enable {name} lets it"
    if row["version"] is None:
        return f"{name} is {row['state']}"
    return f"{name} {row['version']} ({row['hash']}) serves, {row['state']}"
