"""`hermes plugins`: look at plugins, change what runs, make and check them, and see what they need installed."""

from __future__ import annotations

import click

from hermes.cli.lazy import LazyGroup

_COMMANDS = {
    "check": "hermes.cli.plugins.check:command",
    "disable": "hermes.cli.plugins.orders:disable",
    "enable": "hermes.cli.plugins.orders:enable",
    "list": "hermes.cli.plugins.listing:command",
    "new": "hermes.cli.plugins.new:command",
    "reload": "hermes.cli.plugins.orders:reload",
    "requirements": "hermes.cli.plugins.requirements:command",
}


@click.group("plugins", cls=LazyGroup, places=_COMMANDS)
def command() -> None:
    """Look at the plugins, change what runs, make and check them."""
