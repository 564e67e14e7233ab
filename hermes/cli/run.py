"""`hermes run`: start the daemon in the foreground."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import click
import uvloop

from hermes.app import App
from hermes.config import load_config
from hermes.observe.logs import open_logs


@click.command("run")
@click.option(
    "-c", "--config", type=click.Path(path_type=Path), help="The configuration; ./hermes.yaml if not given."
)
def command(config: Path | None) -> None:
    """Start the daemon; it logs JSON lines to stdout and ends on SIGTERM or Ctrl-C."""
    settings = load_config(config, os.environ)
    logs = open_logs(settings.hermes.log_level)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(App(settings, os.environ, logs=logs).run())
            _ignore_signals(runner.get_loop())
    finally:
        logs.sink.close()


def _ignore_signals(loop: asyncio.AbstractEventLoop) -> None:
    """Let a signal that comes when all is done not make a failure of a clean end."""
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.remove_signal_handler(number)
        signal.signal(number, signal.SIG_IGN)
