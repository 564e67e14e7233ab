"""`hermes router`: learn weights from labelled texts, and measure how well texts are routed."""

from __future__ import annotations

import click

from hermes.cli.lazy import LazyGroup

_COMMANDS = {
    "eval": "hermes.cli.router.evaluating:command",
    "learn": "hermes.cli.router.learning:command",
}


@click.group("router", cls=LazyGroup, places=_COMMANDS)
def command() -> None:
    """Learn weights from labelled texts, and measure how well texts are routed."""
