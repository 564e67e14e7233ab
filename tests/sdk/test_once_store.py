"""`context["once"]` in hermes.sdk.testing: what a store keeps between two calls of a handler."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hermes.sdk import NotDone, OnceUnavailable, OutcomeUnknown, StillRunning
from hermes.sdk.testing import Call, Kept, OnceStore, run

Values = dict[str, Any]
ISSUE = {"key": "OPS-1", "summary": "磁盘满了"}


class Desk:
    """A handler that opens a ticket once and counts how often it did; `trouble` is raised instead."""

    def __init__(self, trouble: BaseException | None = None) -> None:
        self.made = 0
        self.trouble = trouble

    async def __call__(self, _message: Values, context: Values) -> Any:
        return await context["once"]("issue", self.make)

    async def make(self) -> Values:
        self.made += 1
        await asyncio.sleep(0)
        if self.trouble is not None:
            raise self.trouble
        return ISSUE


async def test_a_second_call_with_the_same_store_makes_nothing() -> None:
    desk, store = Desk(), OnceStore()
    outcomes = [await run(desk, {}, call=Call(once=store)) for _ in range(2)]
    assert [outcome.data for outcome in outcomes] == [ISSUE, ISSUE]
    assert (desk.made, store.kept) == (1, {"issue": Kept("done", ISSUE)})


async def test_without_a_store_every_call_is_the_first() -> None:
    desk = Desk()
    assert [(await run(desk, {})).data for _ in range(2)] == [ISSUE, ISSUE]
    assert desk.made == 2


async def test_a_failed_make_leaves_the_key_free() -> None:
    desk, store = Desk(LookupError("no project")), OnceStore()
    with pytest.raises(LookupError):
        await run(desk, {}, call=Call(once=store))
    assert store.kept == {}
    desk.trouble = None
    assert (await run(desk, {}, call=Call(once=store))).data == ISSUE


async def test_a_call_that_runs_out_of_time_leaves_the_key_unknown() -> None:
    store = OnceStore()

    async def handle(message: Values, context: Values) -> None:
        await context["once"]("issue", asyncio.Event().wait)

    with pytest.raises(TimeoutError):
        await run(handle, {}, call=Call(once=store, timeout=0.05))
    assert store.kept == {"issue": Kept("unknown")}
    with pytest.raises(OutcomeUnknown):
        await run(Desk(), {}, call=Call(once=store))


@pytest.mark.parametrize(("kept", "raised"), [("unknown", OutcomeUnknown), ("running", StillRunning)])
async def test_a_test_may_put_a_key_into_any_state(kept: Any, raised: type[Exception]) -> None:
    desk, store = Desk(), OnceStore({"issue": Kept(kept)})
    with pytest.raises(raised):
        await run(desk, {}, call=Call(once=store))
    assert (desk.made, store.kept["issue"].state) == (0, kept)
    del store.kept["issue"]
    assert (await run(desk, {}, call=Call(once=store))).data == ISSUE


@pytest.mark.parametrize(("found", "made"), [(True, 0), (False, 1)])
async def test_a_lookup_settles_an_unknown_key(*, found: bool, made: int) -> None:
    desk, store = Desk(), OnceStore({"issue": Kept("unknown")})

    async def lookup() -> Values:
        if not found:
            raise NotDone
        return ISSUE

    async def handle(message: Values, context: Values) -> Any:
        return await context["once"]("issue", desk.make, lookup=lookup)

    assert (await run(handle, {}, call=Call(once=store))).data == ISSUE
    assert (desk.made, store.kept) == (made, {"issue": Kept("done", ISSUE)})


async def test_two_calls_at_the_same_time_make_one_thing() -> None:
    desk, store = Desk(), OnceStore()
    both = [run(desk, {}, call=Call(once=store)) for _ in range(2)]
    outcomes = await asyncio.gather(*both, return_exceptions=True)
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Outcome", "StillRunning"]
    assert desk.made == 1


async def test_a_store_that_is_away_lets_nothing_run() -> None:
    desk, store = Desk(), OnceStore()
    store.away = True
    with pytest.raises(OnceUnavailable):
        await run(desk, {}, call=Call(once=store))
    assert desk.made == 0


async def test_a_store_that_goes_away_meanwhile_loses_no_result() -> None:
    store = OnceStore()

    async def handle(message: Values, context: Values) -> Any:
        async def make() -> Values:
            store.away = True
            return ISSUE

        return await context["once"]("issue", make)

    outcome = await run(handle, {}, call=Call(once=store))
    assert outcome.data == ISSUE
    assert "cannot be reached" in outcome.logs[0]
    assert store.kept == {"issue": Kept("unknown")}


def test_a_key_is_settled_by_its_holder_alone_and_unknown_requests_are_refused() -> None:
    store = OnceStore()
    mine = {"call": "c1", "key": "issue"}
    assert store.answer("once.begin", mine) == {"result": {"state": "new"}}
    for method, code in (("once.done", -32602), ("once.fail", -32602), ("send", -32601)):
        answer = store.answer(method, {"call": "c2", "key": "issue", "result": 1})
        assert answer["error"]["code"] == code
    store.leave("c2")
    assert store.answer("once.begin", mine) == {"result": {"state": "running"}}
    assert store.kept == {"issue": Kept("running")}
    assert store.answer("once.fail", mine) == {"result": {}}
    assert store.kept == {}


def test_an_unknown_key_is_for_one_call_at_a_time_to_settle() -> None:
    store = OnceStore({"issue": Kept("unknown")})
    for call, state in (("c1", "unknown"), ("c1", "unknown"), ("c2", "running")):
        answer = store.answer("once.begin", {"call": call, "key": "issue"})
        assert answer == {"result": {"state": state}}
    store.leave("c1")
    assert store.answer("once.begin", {"call": "c2", "key": "issue"}) == {"result": {"state": "unknown"}}
