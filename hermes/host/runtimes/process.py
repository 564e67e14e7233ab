"""Runtime `process`: a long-lived worker in any language that speaks the plugin wire on its stdin and stdout."""

from __future__ import annotations

from pathlib import Path

from hermes.config.document import Document
from hermes.errors import ConfigError
from hermes.host.manifests.manifest_file import ManifestSection
from hermes.host.plugin import Plugin
from hermes.host.programs.command import Command, command_problems, surroundings
from hermes.host.workers.launch import bootstrapped, watched
from hermes.host.workers.startup import start_worker
from hermes.host.workers.wire_worker import Launch
from hermes.host.workers.worker import Worker
from hermes.host.workers.workshop import Workshop


class ProcessOptions(ManifestSection):
    """What a manifest says beside the rest for a plugin that is a worker of its own."""

    command: Command
    """The worker and its arguments. ./name is a file in the plugin's folder; a name without a slash is looked for on PATH."""


class ProcessRuntime:
    """Starts the plugin's own worker, once for many calls."""

    options = ProcessOptions
    limits = frozenset({"memory_mb", "open_files", "processes"})

    def problems(self, document: Document, options: ProcessOptions, *, directory: Path) -> list[ConfigError]:
        """Find a worker that is not there or cannot be started."""
        return command_problems(document, options.command, directory=directory)

    async def start(self, plugin: Plugin, workshop: Workshop) -> Worker:
        """Start the worker and wait until it has answered `initialize`."""
        launch = Launch(
            command=bootstrapped(plugin.manifest.options.command, plugin.manifest.limits),
            environment=surroundings(plugin),
            directory=plugin.directory,
            frame_bytes=workshop.frame_bytes,
            custody=workshop.custody,
            limits=watched(plugin.manifest.limits, memory=True),
        )
        return await start_worker(plugin, launch, listener=workshop.listener)


adapter = ProcessRuntime
