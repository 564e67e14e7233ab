"""Runtime `python`: a long-lived worker process that imports the plugin's `handle`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import Field

from hermes.config.document import Document
from hermes.errors import ConfigError
from hermes.host.manifests.manifest_file import ManifestSection
from hermes.host.plugin import Plugin
from hermes.host.workers.launch import blank_launch, own_limits, watched
from hermes.host.workers.startup import start_worker
from hermes.host.workers.worker import Worker
from hermes.host.workers.workshop import Workshop

Entry = Annotated[str, Field(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$")]


class PythonOptions(ManifestSection):
    """What a manifest says beside the rest for a plugin in Python."""

    entry: Entry = "plugin:handle"
    """module:function, the module or package lying in the plugin's folder."""


class PythonRuntime:
    """Starts the sdk's worker with the daemon's own interpreter, so that installed packages are at hand."""

    options = PythonOptions
    limits = frozenset({"memory_mb", "open_files", "processes"})

    def problems(self, document: Document, options: PythonOptions, *, directory: Path) -> list[ConfigError]:
        """Find an entry that names no file."""
        module = directory.joinpath(*options.entry.partition(":")[0].split("."))
        if module.with_suffix(".py").is_file() or (module / "__init__.py").is_file():
            return []
        reason = f"there is no {module.name}.py beside it for the entry {options.entry}"
        return [document.problem(("entry",), reason)]

    async def start(self, plugin: Plugin, workshop: Workshop) -> Worker:
        """Start a Python worker, or take one in reserve, and let it import the plugin."""
        launch = replace(
            blank_launch(plugin.environment, plugin.directory, frame_bytes=workshop.frame_bytes),
            custody=workshop.custody,
            limits=watched(plugin.manifest.limits, memory=False),
        )
        return await start_worker(
            plugin,
            launch,
            listener=workshop.listener,
            spare=None if workshop.spares is None else workshop.spares.take(),
            entry=plugin.manifest.options.entry,
            directory=str(plugin.directory),
            environment=plugin.environment,
            limits=own_limits(plugin.manifest.limits, memory=True),
        )


adapter = PythonRuntime
