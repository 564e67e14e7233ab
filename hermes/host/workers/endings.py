"""How a worker is brought to its end: asked first, and killed if it does not leave."""

from __future__ import annotations

import asyncio

from hermes.host.workers.worker import Worker

GRACE = 2.0
"""Seconds that a worker has to leave, or a handler to end, after it was told to."""


async def end_worker(worker: Worker) -> None:
    """Ask a worker to leave, kill it if it does not, and return when it is gone; cancelling kills it at once."""
    worker.close()
    try:
        async with asyncio.timeout(GRACE):
            await worker.exited.wait()
    except TimeoutError:
        worker.kill()
        await worker.exited.wait()
    except asyncio.CancelledError:
        worker.kill()
        raise
