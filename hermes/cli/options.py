"""Options that several commands share, and the values that options take."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, NoReturn

import click

from hermes.cli.address import Address, configured_address
from hermes.cli.client import Client, InvalidAddress
from hermes.messages import is_id

Command = Callable[..., None]


def calls_daemon(command: Command) -> Command:
    """Add --url and --key to a command, which is given a Client for them as its first argument."""

    @click.option(
        "--url",
        envvar="HERMES_URL",
        show_envvar=True,
        help="Where the daemon listens; by hermes.bind of ./hermes.yaml if not given, else port 8080 here.",
    )
    @click.option("--key", envvar="HERMES_KEY", show_envvar=True, help="The key, if the daemon wants one.")
    @wraps(command)
    def called(url: str | None, key: str | None, **options: Any) -> None:
        # An empty variable is one that is not set.
        place = Address(url, "") if url else configured_address(os.environ)
        try:
            client = Client(place.url, key, origin=place.origin)
        except InvalidAddress as error:
            raise click.UsageError(error.detail) from None
        command(client, **options)

    return called


config_option = click.option(
    "-c",
    "--config",
    type=click.Path(path_type=Path),
    help="The configuration; ./hermes.yaml if not given.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")


def waits(command: Command) -> Command:
    """Add --follow, --wait and --json: how a command waits for the end of a message and shows it."""
    follow = click.option("--follow", is_flag=True, help="Show the progress while it runs.")
    wait = click.option(
        "--wait", type=seconds, metavar="S", help="Wait at most S seconds for the end; the message goes on."
    )
    return follow(wait(json_option(command)))


def sendable(value: str) -> str:
    """Return an argument that is text; one of bytes that are not UTF-8 is refused."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise click.BadParameter("it is not UTF-8 text") from None
    return value


def identifier(value: str) -> str:
    """Return the id of a message or a session."""
    if not is_id(value):
        raise click.BadParameter("an id has 1 to 128 characters of A-Z a-z 0-9 . _ : ~ -")
    return value


def json_object(value: str) -> dict[str, Any]:
    """Return a JSON object that was given as text."""
    try:
        found = json.loads(value, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(f"it is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise click.BadParameter('it must be an object such as {"project": "web"}')
    return found


def seconds(value: str) -> float:
    """Return a number of seconds."""
    try:
        found = float(value)
    except ValueError:
        found = math.nan
    if not (math.isfinite(found) and found >= 0):
        raise click.BadParameter("it must be a number of seconds, 0 or more")
    return found


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")
