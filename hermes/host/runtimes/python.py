"""Runtime `python`: a long-lived worker process that imports the plugin's `handle`."""

from __future__ import annotations

import sys

from hermes.host.plugin import Plugin
from hermes.host.worker import Launch


class PythonRuntime:
    """Starts the sdk's worker with the daemon's own interpreter, so that installed packages are at hand."""

    def launch(self, plugin: Plugin, *, frame_bytes: int) -> Launch:
        """Return the command of a Python worker; its bytecode goes aside so that the plugin's folder stays as is."""
        return Launch(
            # -P: a plugin's files must not shadow what the worker itself imports.
            command=(sys.executable, "-P", "-m", "hermes.sdk.worker"),
            environment=plugin.environment
            | {"PYTHONUTF8": "1", "PYTHONPYCACHEPREFIX": str(plugin.cache_dir)},
            directory=plugin.directory,
            frame_bytes=frame_bytes,
        )


adapter = PythonRuntime
