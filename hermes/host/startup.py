"""Brings one worker process up: starts it and waits until the plugin in it is ready."""

from __future__ import annotations

import asyncio
import contextlib

from hermes.host.failures import Crashed, Raised
from hermes.host.plugin import Plugin
from hermes.host.worker import Launch, Listener, Worker
from hermes.sdk.wire import PROTOCOL

_READY_WITHIN = 30.0  # seconds a plugin may take to be imported


async def start_worker(plugin: Plugin, launch: Launch, *, listener: Listener) -> Worker:
    """Return a worker that is ready for calls.

    Raises:
        Raised: the plugin raised while it was imported, or does not speak the protocol.
        Crashed: the process died, or was not ready in time.
        OSError: the process could not be started.
    """
    worker = await _start(launch, listener)
    params = {
        "protocol": PROTOCOL,
        "plugin": plugin.manifest.name,
        "version": plugin.manifest.version,
        "hash": plugin.hash,
        "entry": plugin.manifest.entry,
        "config": plugin.config,
        "secrets": plugin.secrets,
        "data_dir": str(plugin.data_dir),
    }
    ready = False
    try:
        async with asyncio.timeout(_READY_WITHIN):
            answer = await worker.request("initialize", params)
        if not isinstance(answer, dict) or answer.get("protocol") != PROTOCOL:
            raise Raised(f"the worker does not speak protocol {PROTOCOL}")
        ready = True
    except TimeoutError:
        raise Crashed(f"the plugin was not ready within {_READY_WITHIN:g} s") from None
    finally:
        if not ready:
            worker.kill()
            await worker.exited.wait()
    return worker


async def _start(launch: Launch, listener: Listener) -> Worker:
    """Start the process. If the caller is cancelled meanwhile it is seen through first: half a process cannot be ended."""
    starting = asyncio.ensure_future(Worker.start(launch, listener))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with contextlib.suppress(OSError):
            worker = await starting
            worker.kill()
            await worker.exited.wait()
        raise
