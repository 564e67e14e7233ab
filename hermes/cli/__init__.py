"""The command line. One file a group of commands, imported only when one of them is called."""

from __future__ import annotations

import io
import sys
from typing import Any

import click

from hermes import __version__
from hermes.cli.lazy import LazyGroup
from hermes.cli.text import printable
from hermes.errors import HermesError

_COMMANDS = {
    "check": "hermes.cli.check:command",
    "messages": "hermes.cli.messages:command",
    "plugins": "hermes.cli.plugins:command",
    "route": "hermes.cli.route:command",
    "router": "hermes.cli.router:command",
    "run": "hermes.cli.run:command",
    "send": "hermes.cli.send:command",
}


class _Commands(LazyGroup):
    """Prints what went wrong as one line."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except HermesError as error:
            raise click.ClickException(printable(str(error))) from error


@click.group(cls=_Commands, places=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="hermes")
def root() -> None:
    """Hermes carries a sentence to the plugin it is for, and the answer back."""


def main() -> None:
    """Run the command line; the exit code is 0 only on success and 2 for wrong usage."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal of another encoding gets what it can show.
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.exit(root(prog_name="hermes"))
