"""Runtime `http`: no code at all; a call becomes the request of HTTP that the manifest describes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Protocol

from hermes.config.document import Document
from hermes.errors import ConfigError
from hermes.host.http.options import HttpFile, http_problems
from hermes.host.http.request import RequestTemplate
from hermes.host.manifests.manifest import MANIFEST_FILE
from hermes.host.manifests.manifest_file import ManifestSection
from hermes.host.plugin import Plugin
from hermes.host.workers.failures import Raised
from hermes.host.workers.task_worker import Runner, TaskWorker
from hermes.host.workers.worker import Worker
from hermes.host.workers.workshop import Workshop


class HttpOptions(ManifestSection):
    """What a manifest says beside the rest for a plugin that is a request."""

    http: HttpFile
    """The request that a call becomes, and where in its answer the result is."""


class HttpRuntime:
    """Sends requests from the daemon itself; there is no process, so there are no limits of one."""

    options = HttpOptions
    limits = frozenset[str]()

    def problems(self, document: Document, options: HttpOptions, *, directory: Path) -> list[ConfigError]:  # noqa: ARG002 - the contract
        """Find what is wrong with the request before there is a payload."""
        return http_problems(document, options.http)

    async def start(self, plugin: Plugin, workshop: Workshop) -> Worker:
        """Return a worker with its own connections, once the variables are known to make an address."""
        try:
            template = RequestTemplate(plugin.manifest.options.http, plugin.secrets)
        except ValueError as error:
            failure = Raised(f"http.url, with its variables filled in: {error}")
            failure.where = {"file": MANIFEST_FILE}
            raise failure from None
        make = await asyncio.to_thread(_sender)
        return TaskWorker(make(plugin, template, frame_bytes=workshop.frame_bytes), workshop.listener)


class _MakeRunner(Protocol):
    def __call__(self, plugin: Plugin, template: RequestTemplate, /, *, frame_bytes: int) -> Runner: ...


def _sender() -> _MakeRunner:
    """Return what sends. Its package takes a while to be imported, and a good part of a daemon's memory."""
    from hermes.host.http.calls import HttpCalls  # noqa: PLC0415 - see above

    return HttpCalls


adapter = HttpRuntime
