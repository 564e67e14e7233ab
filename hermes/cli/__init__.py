"""The command line. One file a group of commands, imported only when one of them is called."""

from __future__ import annotations

import importlib
import io
import sys
from typing import Any

import click

from hermes import __version__
from hermes.cli.text import printable
from hermes.errors import HermesError

_COMMANDS = {
    "check": "hermes.cli.check",
    "messages": "hermes.cli.messages",
    "plugins": "hermes.cli.plugins",
    "route": "hermes.cli.route",
    "run": "hermes.cli.run",
    "send": "hermes.cli.send",
}


class _LazyGroup(click.Group):
    """Imports a command's module when the command is asked for: `hermes --version` has to be quick."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(_COMMANDS[cmd_name]).command
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except HermesError as error:
            raise click.ClickException(printable(str(error))) from error


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="hermes")
def root() -> None:
    """Hermes carries a sentence to the plugin it is for, and the answer back."""


def main() -> None:
    """Run the command line; the exit code is 0 only on success and 2 for wrong usage."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal of another encoding gets what it can show.
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.exit(root(prog_name="hermes"))
