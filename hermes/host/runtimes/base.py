"""What a plugin runtime has to offer: a way to start a worker that speaks the plugin wire."""

from __future__ import annotations

from typing import Protocol

from hermes.host.plugin import Plugin
from hermes.host.worker import Launch


class Runtime(Protocol):
    """One kind of plugin. Its file names it as `adapter`; it is made without arguments."""

    def launch(self, plugin: Plugin, *, frame_bytes: int) -> Launch:
        """Return how to start a worker of `plugin`. Starts nothing; raises ConfigError if it never could."""
