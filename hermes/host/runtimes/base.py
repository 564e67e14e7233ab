"""What a plugin runtime has to offer: the keys it adds to a manifest, and a way to start a worker."""

from __future__ import annotations

from typing import Protocol

from hermes.host.manifests.manifest_keys import ManifestKeys
from hermes.host.plugin import Plugin
from hermes.host.workers.worker import Worker
from hermes.host.workers.workshop import Workshop


class Runtime(ManifestKeys, Protocol):
    """One kind of plugin. Its file names it as `adapter`; it is made without arguments.

    Reading manifests and starting workers are told apart: the first needs no package beyond the core's, so that a
    manifest can be checked wherever the plugin itself could not run.
    """

    async def start(self, plugin: Plugin, workshop: Workshop) -> Worker:
        """Return a worker that is ready for calls.

        Raises:
            Raised: the plugin raised while it was loaded, does not speak the protocol, or lacks something here.
            Crashed: its process died, or was not ready in time.
            OSError, TypeError, ValueError: a process could not be started with what the plugin says.
        """
