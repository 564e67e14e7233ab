"""`once` while the store is away: first attempts go on, retries do nothing twice, and nothing that is known gets lost."""

from __future__ import annotations

import json

import pytest

from hermes.errors import StoreError
from hermes.stores.sqlite import SqliteStore
from tests.support.away import AWAY, AwayStore
from tests.support.bench import eventually
from tests.support.disk import no_room
from tests.support.doer import Doer, error_of, open_again
from tests.support.house import House
from tests.support.logbook import Logbook

TICKET = {"ticket": "OPS-7", "n": 1}
HERE = {
    "zh": "存储暂时不可用，防止重复执行的状态只保存在本机。",
    "en": "The store is away: what keeps it from being done twice is kept on this machine alone.",
}
UNKNOWN = "Cannot tell whether it was done the last time"


@pytest.fixture
def store(house: House) -> AwayStore:
    house.store = store = AwayStore()
    return store


@pytest.fixture
def spare(house: House) -> AwayStore:
    house.spare = spare = AwayStore()
    return spare


@pytest.fixture
async def doer(house: House, store: AwayStore, spare: AwayStore) -> Doer:
    doer = Doer(house)
    house.open()
    return doer


def states(store: AwayStore) -> list[str]:
    return [json.loads(value)["state"] for value in store.values]


async def test_without_a_spare_nothing_runs_while_the_store_is_away(house: House, store: AwayStore) -> None:
    doer = Doer(house)
    house.open()
    store.away = True
    failed = await doer.send(payload={"text": "建单"})
    code, sentence = error_of(failed)
    assert (code, doer.effects) == ("plugin_error", [])
    assert sentence.endswith(f"what keeps it from being done twice cannot be kept now: {AWAY}")
    store.away = False
    assert (await doer.send(retry_of=failed["request_id"]))["envelope"]["data"] == TICKET


@pytest.mark.parametrize(("text", "locale"), [("建单", "zh"), ("create it", "en")])
async def test_a_first_attempt_runs_with_a_warning_while_the_store_is_away(
    doer: Doer, store: AwayStore, spare: AwayStore, text: str, locale: str
) -> None:
    store.away = True
    record = await doer.send(payload={"text": text, "keys": ["a", "b"]})
    assert (record["status"], record["envelope"]["warning"]) == ("succeeded", HERE[locale])
    assert (len(doer.effects), states(spare), states(store)) == (2, ["done", "done"], [])


async def test_what_was_done_while_the_store_was_away_counts_when_it_is_back_and_is_written_there(
    doer: Doer, store: AwayStore, spare: AwayStore
) -> None:
    store.away = True
    doer.day(then="fail")
    failed = await doer.send()
    store.away = False
    doer.day()
    record = await doer.send(retry_of=failed["request_id"])
    assert (record["envelope"]["data"], record["envelope"]["warning"]) == (TICKET, None)
    assert (len(doer.effects), states(store), states(spare)) == (1, ["done"], [])


async def test_what_was_done_while_the_store_was_away_is_returned_while_it_still_is(
    doer: Doer, store: AwayStore, spare: AwayStore
) -> None:
    store.away = True
    doer.day(then="fail")
    failed = await doer.send()
    doer.day()
    record = await doer.send(retry_of=failed["request_id"])
    assert (record["envelope"]["data"], record["envelope"]["warning"]) == (TICKET, HERE["en"])
    assert len(doer.effects) == 1


async def test_a_retry_that_cannot_ask_the_store_runs_nothing_and_hides_nothing_that_the_store_knows(
    doer: Doer, store: AwayStore, spare: AwayStore
) -> None:
    doer.day(then="fail")
    failed = await doer.send()
    doer.day()
    store.away = True
    for _ in range(2):
        again = await doer.send(retry_of=failed["request_id"])
        assert error_of(again)[1].startswith(UNKNOWN)
        assert HERE["en"] in again["envelope"]["warning"]
    store.away = False
    record = await doer.send(retry_of=failed["request_id"])
    assert (record["envelope"]["data"], record["envelope"]["warning"]) == (TICKET, None)
    assert (len(doer.effects), states(store), states(spare)) == (1, ["done"], [])


async def test_a_retry_may_look_up_what_the_store_cannot_tell(
    doer: Doer, store: AwayStore, spare: AwayStore
) -> None:
    doer.day(make="die")
    failed = await doer.send()
    store.away = True
    doer.day(lookup="found")
    found = await doer.send(retry_of=failed["request_id"])
    assert found["envelope"]["data"] == {"ticket": "found"}
    assert (len(doer.effects), states(store), states(spare)) == (1, ["running"], ["done"])


async def test_a_step_that_failed_while_the_store_was_away_is_free(
    doer: Doer, store: AwayStore, spare: AwayStore
) -> None:
    store.away = True
    doer.day(make="raise")
    failed = await doer.send()
    doer.day()
    for away, count in ((True, 2), (False, 2)):
        store.away = away
        again = await doer.send(retry_of=failed["request_id"])
        assert (again["envelope"]["data"], len(doer.effects)) == (TICKET | {"n": 2}, count)
    assert (states(store), states(spare)) == (["done"], [])


async def test_a_store_that_goes_away_in_the_middle_of_a_step_loses_nothing(
    doer: Doer, store: AwayStore, spare: AwayStore
) -> None:
    doer.day(make="wait", then="fail")
    live = await doer.begin()
    await doer.affected()
    doer.day()
    store.away = True
    (doer.data / "go").touch()
    record = await doer.house.end(live)
    assert record["envelope"]["warning"] == HERE["en"]
    assert (states(store), states(spare)) == (["running"], ["done"])
    store.away = False
    assert (await doer.send(retry_of=record["request_id"]))["envelope"]["data"] == TICKET
    assert (len(doer.effects), states(store), states(spare)) == (1, ["done"], [])


async def test_a_step_that_was_cut_off_while_the_store_was_away_is_unknown_when_it_is_back(
    doer: Doer, store: AwayStore, spare: AwayStore
) -> None:
    store.away = True
    doer.day(make="die")
    failed = await doer.send()
    store.away = False
    doer.day()
    for _ in range(2):
        assert error_of(await doer.send(retry_of=failed["request_id"]))[1].startswith(UNKNOWN)
    assert len(doer.effects) == 1


async def test_a_step_that_another_call_is_at_is_running_even_if_the_store_cannot_be_asked(
    house: House, store: AwayStore, spare: AwayStore
) -> None:
    doer = Doer(house, timeout=0.6, workers={"min": 2, "max": 2})
    house.open()
    await eventually(lambda: len(house.plugin("p")["workers"]) == 2)
    doer.day(make="block", seconds=1.5)
    failed = await doer.send()
    store.away = True
    doer.day(lookup="absent")
    assert error_of(await doer.send(retry_of=failed["request_id"]))[1].startswith(
        "The same operation is still"
    )
    assert len(doer.effects) == 1


async def test_a_step_that_this_call_has_done_is_not_free_because_the_store_went_away(
    doer: Doer, store: AwayStore, spare: AwayStore
) -> None:
    (doer.data / "hold later").touch()
    live = await doer.begin(payload={"keys": ["issue", "later", "issue"]})
    await eventually(lambda: states(store) == ["done"])
    store.away = True
    (doer.data / "hold later").unlink()
    record = await doer.house.end(live)
    assert len(doer.effects) == 2
    assert error_of(record)[1].startswith(UNKNOWN)


async def test_a_store_whose_answers_are_lost_doubles_nothing(
    doer: Doer, store: AwayStore, spare: AwayStore
) -> None:
    store.deaf = True
    doer.day(then="fail")
    failed = await doer.send()
    doer.day()
    for deaf in (True, False, False):
        store.deaf = deaf
        record = await doer.send(retry_of=failed["request_id"])
        assert record["envelope"]["data"] == TICKET
    assert (len(doer.effects), states(store), states(spare)) == (1, ["done"], [])


async def test_if_the_state_can_be_kept_nowhere_the_call_fails_and_nothing_runs(
    doer: Doer, store: AwayStore, spare: AwayStore
) -> None:
    store.away = spare.away = True
    failed = await doer.send()
    assert error_of(failed)[1].endswith(f"what keeps it from being done twice cannot be kept now: {AWAY}")
    assert doer.effects == []
    spare.away = False
    assert error_of(await doer.send(retry_of=failed["request_id"]))[1].startswith(UNKNOWN)
    store.away = False


async def test_a_result_that_can_be_kept_nowhere_is_returned_with_a_line_in_the_log_and_is_unknown_later(
    doer: Doer, store: AwayStore, spare: AwayStore, book: Logbook
) -> None:
    doer.day(make="wait")
    live = await doer.begin()
    await doer.affected()
    store.away = spare.away = True
    (doer.data / "go").touch()
    assert (await doer.house.end(live))["envelope"]["data"] == TICKET
    assert any(
        "could not be kept" in line["text"] for line in book.lines(event="plugin_log", level="warning")
    )


async def test_what_is_done_is_told_although_it_cannot_be_kept_any_longer(
    house: House, book: Logbook
) -> None:
    """A disk that takes no more can still be read."""
    house.store = store = SqliteStore(file=house.home / "store.db")
    await store.open()
    doer = Doer(house)
    house.open()
    doer.day(then="fail")
    failed = await doer.send()
    doer.day()
    with no_room(house.home):
        with pytest.raises(StoreError):
            await store.put("any", b"x" * 10**6)
        assert (await doer.send(retry_of=failed["request_id"]))["envelope"]["data"] == TICKET
    assert len(doer.effects) == 1
    await house.stop()
    await store.close()


async def test_what_the_spare_holds_counts_after_a_restart_too(
    doer: Doer, store: AwayStore, spare: AwayStore, book: Logbook
) -> None:
    store.away = True
    doer.day(make="die")
    failed = await doer.send()
    again = doer.house = await open_again(doer.house, book)
    store.away = False
    doer.day()
    assert error_of(await doer.send(retry_of=failed["request_id"]))[1].startswith(UNKNOWN)
    assert len(doer.effects) == 1
    await again.stop()


async def test_a_store_that_was_never_away_leaves_the_spare_alone(
    house: House, store: AwayStore, spare: AwayStore
) -> None:
    doer = Doer(house)
    house.open()
    for _ in range(3):
        record = await doer.send()
        assert record["envelope"]["warning"] is None
    assert (states(store), spare.values) == (["done"] * 3, [])
