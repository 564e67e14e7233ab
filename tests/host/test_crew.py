"""How many workers a plugin has, and that none is sent away while it is needed."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace
from typing import Any

from hermes.deadlines import Deadlines
from hermes.host.crew import Crew, Watch
from hermes.host.gate import StartGate
from hermes.host.manifests.manifest import Workers
from hermes.host.pool import Pool
from hermes.observe.metrics import Metrics
from tests.support.bench import eventually
from tests.support.logbook import Logbook

IDLE_STOP = 0.05


class Idler:
    """A worker that notes when it is asked to leave, and leaves when the test lets it."""

    pid = busy = paused = 0
    killed = False

    def __init__(self) -> None:
        self.asked = False
        self.exited = asyncio.Event()

    def close(self) -> None:
        self.asked = True


async def make_idler(_plugin: Any, _workshop: Any) -> Idler:
    return Idler()


def crew_of(pool: Pool, book: Logbook, *, deadlines: Deadlines) -> Crew:
    """Return who keeps no worker that is not needed, and two at the most."""
    plugin: Any = SimpleNamespace(
        manifest=SimpleNamespace(name="p", workers=Workers(0, 2, IDLE_STOP)), hash="h"
    )
    runtime: Any = SimpleNamespace(start=make_idler)
    workshop: Any = SimpleNamespace()
    watch = Watch(book.log, Metrics(), deadlines)
    return Crew(plugin, runtime, pool=pool, workshop=workshop, gate=StartGate(2), watch=watch)


async def test_a_worker_that_got_a_call_while_another_left_is_not_sent_away() -> None:
    pool = Pool(1, queue_wait=20, deadlines=(deadlines := Deadlines()))
    crew = crew_of(pool, Logbook(), deadlines=deadlines)
    crew.start()
    workers: list[Any] = [await pool.take(), await pool.take()]
    for worker in workers:
        pool.give_back(worker)
        crew.on_idle(worker)
    time.sleep(2 * IDLE_STOP)  # noqa: ASYNC251 - both are then found to have been idle for long enough
    leaving: Any = await eventually(lambda: next((one for one in workers if one.asked), None))
    needed: Any = await pool.take()
    leaving.exited.set()
    await asyncio.sleep(4 * IDLE_STOP)
    assert not needed.asked
    pool.give_back(needed)
    crew.on_idle(needed)
    await eventually(lambda: needed.asked)
    needed.exited.set()
    await crew.stop()
