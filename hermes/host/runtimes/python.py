"""Runtime `python`: a long-lived worker process that imports the plugin's `handle`."""

from __future__ import annotations

import sys

from hermes.host.plugin import Plugin
from hermes.host.worker import Launch


class PythonRuntime:
    """Starts the sdk's worker with the daemon's own interpreter, so that installed packages are at hand."""

    def launch(self, plugin: Plugin, *, frame_bytes: int) -> Launch:
        """Return the command of a Python worker."""
        return Launch(
            # -P: a plugin's files must not shadow what the worker itself imports. -B: its folder stays as it is.
            command=(sys.executable, "-P", "-B", "-m", "hermes.sdk.worker"),
            environment=plugin.environment | {"PYTHONUTF8": "1"},
            directory=plugin.directory,
            frame_bytes=frame_bytes,
        )


adapter = PythonRuntime
