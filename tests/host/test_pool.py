from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from hermes.deadlines import Deadlines
from hermes.host.pool import Pool
from hermes.host.workers.failures import Unavailable
from hermes.host.workers.wire_worker import WireWorker
from hermes.host.workers.worker import Worker
from tests.support.employer import Employer


def pool_of(*workers: Worker, concurrency: int = 1, queue_wait: float = 20) -> Pool:
    pool = Pool(concurrency, queue_wait=queue_wait, deadlines=Deadlines())
    for worker in workers:
        pool.add(worker)
    return pool


async def a_worker() -> Worker:
    """Return a worker whose process was never started: a pool only counts its places."""
    return WireWorker(Employer(Path()), 1024)


async def queue_up(pool: Pool, count: int) -> list[asyncio.Task[Worker]]:
    """Let `count` calls wait for a place, one after the other."""
    waiting = []
    for _ in range(count):
        waiting.append(asyncio.ensure_future(pool.take()))
        await asyncio.sleep(0)
    return waiting


async def done(tasks: list[asyncio.Task[Worker]]) -> list[bool]:
    """Let the loop go round, and return which of the tasks have ended."""
    for _ in range(3):
        await asyncio.sleep(0)
    return [task.done() for task in tasks]


async def test_a_worker_has_as_many_places_as_its_concurrency() -> None:
    worker = await a_worker()
    pool = pool_of(worker, concurrency=3)
    waiting = await queue_up(pool, 5)
    assert await done(waiting) == [True, True, True, False, False]
    assert (worker.busy, pool.depth) == (3, 2)
    pool.give_back(worker)
    assert await done(waiting) == [True, True, True, True, False]
    assert (worker.busy, pool.depth) == (3, 1)
    waiting[-1].cancel()


async def test_calls_are_served_in_the_order_of_their_arrival() -> None:
    pool = pool_of()
    waiting = await queue_up(pool, 5)
    worker = await a_worker()
    pool.add(worker)
    for served in range(1, 6):
        assert await done(waiting) == [number < served for number in range(5)]
        pool.give_back(worker)
    assert (worker.busy, pool.depth) == (0, 0)


async def test_who_comes_while_others_wait_does_not_pass_them() -> None:
    worker = await a_worker()
    pool = pool_of(worker)
    first, waiting = await pool.take(), await queue_up(pool, 1)
    pool.give_back(first)
    late = await queue_up(pool, 1)
    assert await done([*waiting, *late]) == [True, False]
    late[0].cancel()


async def test_the_worker_with_the_fewest_calls_is_taken() -> None:
    one, two = await a_worker(), await a_worker()
    pool = pool_of(one, two, concurrency=2)
    taken = [await pool.take() for _ in range(4)]
    assert (one.busy, two.busy) == (2, 2)
    assert taken[:2] in ([one, two], [two, one])


async def test_who_waits_longer_than_the_limit_is_told_so_and_leaves_the_queue() -> None:
    worker = await a_worker()
    pool = pool_of(worker, queue_wait=0.05)
    await pool.take()
    with pytest.raises(Unavailable, match=r"no worker had room within 0\.05 s"):
        await pool.take()
    assert (pool.depth, pool.demand.is_set()) == (0, False)
    pool.give_back(worker)
    assert worker.busy == 0
    assert await pool.take() is worker


async def test_who_stops_waiting_keeps_no_place() -> None:
    worker = await a_worker()
    pool = pool_of(worker)
    held = await pool.take()
    leaving, staying = await queue_up(pool, 2)
    leaving.cancel()
    pool.give_back(held)  # before the one who leaves has run
    assert await done([leaving, staying]) == [True, True]
    assert leaving.cancelled()
    assert await staying is worker
    pool.give_back(worker)
    assert (worker.busy, pool.depth) == (0, 0)


async def test_who_stops_waiting_just_when_a_place_came_gives_it_to_the_next() -> None:
    worker = await a_worker()
    pool = pool_of(worker)
    held = await pool.take()
    leaving, staying = await queue_up(pool, 2)
    pool.give_back(held)
    leaving.cancel()  # it has the place and has not run yet
    assert await done([leaving, staying]) == [True, True]
    assert leaving.cancelled()
    assert await staying is worker
    pool.give_back(worker)
    assert (worker.busy, pool.depth) == (0, 0)


async def test_a_paused_worker_gets_nothing_new() -> None:
    worker = await a_worker()
    pool = pool_of(worker, concurrency=2)
    worker.paused = 2
    waiting = await queue_up(pool, 1)
    worker.paused -= 1
    pool.assign()
    assert await done(waiting) == [False]
    worker.paused -= 1
    pool.assign()
    assert await waiting[0] is worker


async def test_a_worker_that_was_removed_or_has_ended_gets_nothing_new() -> None:
    removed, dead = await a_worker(), await a_worker()
    pool = pool_of(removed, dead)
    pool.remove(removed)
    pool.remove(removed)
    dead.exited.set()
    waiting = await queue_up(pool, 1)
    assert await done(waiting) == [False]
    assert len(pool) == 1
    living = await a_worker()
    pool.add(living)
    assert await waiting[0] is living


async def test_all_who_wait_can_be_turned_away() -> None:
    pool = pool_of()
    waiting = await queue_up(pool, 3)
    waiting[1].cancel()
    pool.refuse(lambda: Unavailable("Hermes is shutting down"))
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(result) for result in results] == [Unavailable, asyncio.CancelledError, Unavailable]
    assert (pool.depth, pool.demand.is_set()) == (0, False)


async def test_demand_is_there_as_long_as_somebody_waits() -> None:
    pool = pool_of()
    assert not pool.demand.is_set()
    first, second = await queue_up(pool, 2)
    assert pool.demand.is_set()
    first.cancel()
    await done([first])
    assert pool.demand.is_set()
    pool.add(await a_worker())
    await second
    assert not pool.demand.is_set()
