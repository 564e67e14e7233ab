"""Brings one worker process up: starts it and waits until the plugin in it is ready."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any

from hermes.host.plugin import Plugin
from hermes.host.workers.failures import CallEnded, Crashed, Raised
from hermes.host.workers.wire_worker import Launch, WireWorker
from hermes.host.workers.worker import Listener
from hermes.sdk.wire import PROTOCOL

_READY_WITHIN = 30.0  # seconds a plugin may take to be imported
_SPARE_WITHIN = 2.0  # seconds in which one in reserve has to show that it listens


async def start_worker(
    plugin: Plugin,
    launch: Launch,
    *,
    listener: Listener,
    spare: WireWorker | None = None,
    ready_within: float = _READY_WITHIN,
    **setup: Any,
) -> WireWorker:
    """Return a worker that is ready for calls; `setup` are members of `initialize` beside those of every worker.

    `spare` is a process that is to become it, instead of one that is started. It has `ready_within` seconds.

    Raises:
        Raised: the plugin raised while it was imported, or does not speak the protocol.
        Crashed: the process died, or was not ready in time.
        OSError: the process could not be started.
    """
    if spare is not None and await _listens(spare):
        worker = spare
        worker.hand_over(listener, launch.limits)
    else:
        worker = await _start(launch, listener)
    ready = False
    try:
        async with asyncio.timeout(ready_within):
            await _initialize(worker, plugin, setup=setup)
        ready = True
    except TimeoutError:
        raise Crashed(f"the plugin was not ready within {ready_within:g} s") from None
    finally:
        if not ready:
            worker.kill()
            await worker.exited.wait()
    return worker


async def _listens(spare: WireWorker) -> bool:
    """Say whether a process in reserve still does what it is there for; one that does not is ended."""
    try:
        async with asyncio.timeout(_SPARE_WITHIN):
            await spare.ping()
    except (TimeoutError, CallEnded):
        spare.kill()
        return False
    except asyncio.CancelledError:
        spare.kill()
        raise
    return True


async def _initialize(worker: WireWorker, plugin: Plugin, *, setup: Mapping[str, Any]) -> None:
    """Tell a worker which plugin it is, and wait until that is loaded."""
    params = {
        "protocol": PROTOCOL,
        "plugin": plugin.manifest.name,
        "version": plugin.manifest.version,
        "hash": plugin.hash,
        "config": plugin.config,
        "secrets": plugin.secrets,
        "data_dir": str(plugin.data_dir),
        **setup,
    }
    answer = await worker.request("initialize", params)
    if not isinstance(answer, dict) or answer.get("protocol") != PROTOCOL:
        raise Raised(f"the worker does not speak protocol {PROTOCOL}")


async def _start(launch: Launch, listener: Listener) -> WireWorker:
    """Start the process. If the caller is cancelled meanwhile it is seen through first: half a process cannot be ended."""
    starting = asyncio.ensure_future(WireWorker.start(launch, listener))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with contextlib.suppress(OSError):
            worker = await starting
            worker.kill()
            await worker.exited.wait()
        raise
