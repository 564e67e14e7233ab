"""A key that the store no longer knows of was not free for that: a retry cannot tell, and does nothing twice."""

from __future__ import annotations

import pytest

from hermes.dispatch.live import Live
from hermes.dispatch.once import Once
from hermes.dispatch.once_states import States
from hermes.messages import Record
from hermes.stores.memory import MemoryStore
from tests.support.away import AwayStore
from tests.support.doer import Doer, error_of
from tests.support.house import House

UNKNOWN = "Cannot tell whether it was done the last time"
DAMAGED = [b"not json", b"5", b"{}", b"null", b'{"state":"done"}', b'{"state":"lost"}']


@pytest.fixture
async def shared(house: House) -> AwayStore:
    """A store that others share, beside which the house keeps one of its own."""
    house.store, house.spare = AwayStore(), MemoryStore()
    return house.store


@pytest.fixture
async def doer(house: House, shared: AwayStore) -> Doer:
    doer = Doer(house)
    house.open()
    doer.day(then="fail")
    return doer


async def forget(store: AwayStore) -> None:
    for key in [key async for key in store.scan("")]:
        await store.delete(key)


async def test_a_store_that_lost_its_data_makes_nothing_happen_twice(doer: Doer, shared: AwayStore) -> None:
    failed = await doer.send()
    await forget(shared)
    doer.day()
    again = await doer.send(retry_of=failed["request_id"])
    assert error_of(again)[1].startswith(UNKNOWN)
    doer.day(lookup="found")
    found = await doer.send(retry_of=failed["request_id"])
    assert found["envelope"]["data"] == {"ticket": "found"}
    assert len(doer.effects) == 1


async def test_what_failed_in_a_store_that_lost_its_data_is_still_free(doer: Doer, shared: AwayStore) -> None:
    doer.day(make="raise")
    failed = await doer.send()
    await forget(shared)
    doer.day()
    again = await doer.send(retry_of=failed["request_id"])
    assert again["status"] == "succeeded"


@pytest.mark.parametrize("value", DAMAGED)
async def test_a_damaged_state_says_nothing_of_what_was_done(
    doer: Doer, shared: AwayStore, value: bytes
) -> None:
    failed = await doer.send()
    (key,) = [key async for key in shared.scan("")]
    await shared.put(key, value)
    doer.day()
    again = await doer.send(retry_of=failed["request_id"])
    assert error_of(again)[1].startswith(UNKNOWN)
    assert len(doer.effects) == 1


async def test_a_retry_so_late_that_states_may_have_been_dropped_takes_no_key_for_free(house: House) -> None:
    house.write("p", "async def handle(message, context): ...\n")
    house.open()
    once = Once(States(MemoryStore(), None, ttl=60))  # what a house hands in came long ago
    first = await house.begin(None, "p", request_id="r1")
    retry = again(house, first.record)
    for live, state in ((first, "new"), (retry, "unknown")):
        scope = once.scope(live, plugin="p", call=live.record.message.request_id)
        assert await scope.answer("once.begin", {"key": "k"}) == {"state": state}


def again(house: House, record: Record) -> Live:
    """Return a message that tries another one again, which nobody has begun."""
    live = house.pipeline._intake.reopen(
        record, entry_id=99, fingerprint=None, origin="local:local/r0@1000000000.000"
    )
    live.record.attempts = 1
    return live
