"""`once` from a plugin to the store and back: one side effect for a message, however often and badly it is tried."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hermes.auth.policy import Caller
from hermes.dispatch.retries import UnderWay
from hermes.messages import Principal
from tests.support.bench import eventually
from tests.support.doer import Doer, error_of, open_again
from tests.support.house import House
from tests.support.logbook import Logbook

TICKET = {"ticket": "OPS-7", "n": 1}
FOUND = {"ticket": "found"}
CI = Caller(Principal("key", "ci"), frozenset({"messages", "read"}))
UNKNOWN = (
    "plugin_error",
    "Cannot tell whether it was done the last time; it was not done again, so that it is not done twice.",
)
RUNNING = ("plugin_error", "The same operation is still running; try again in a moment.")


async def test_a_step_is_done_once_in_a_call_and_in_all_retries_of_its_message(house: House) -> None:
    doer = Doer(house)
    house.open()
    doer.day(then="fail")
    first = await doer.send(payload={"keys": ["issue", "issue"]})
    again = await doer.send(retry_of=first["request_id"])
    doer.day()
    last = await doer.send(retry_of=again["request_id"])
    assert (error_of(first), last["envelope"]["data"]) == (
        ("plugin_error", "it failed after that"),
        [TICKET, TICKET],
    )
    assert doer.effects == [first["request_id"]]


async def test_a_failed_step_is_free_at_once(house: House) -> None:
    doer = Doer(house)
    house.open()
    doer.day(make="raise")
    failed = await doer.send()
    assert error_of(failed) == ("plugin_error", "The tool failed: ValueError: 工单系统拒绝了")
    doer.day()
    assert (await doer.send(retry_of=failed["request_id"]))["envelope"]["data"] == TICKET | {"n": 2}
    assert len(doer.effects) == 2


async def test_what_was_done_is_remembered_over_a_restart(house: House, book: Logbook) -> None:
    doer = Doer(house)
    house.open()
    doer.day(then="fail")
    failed = await doer.send()
    doer.house = await open_again(house, book)
    doer.day()
    assert (await doer.send(retry_of=failed["request_id"]))["envelope"]["data"] == TICKET
    assert len(doer.effects) == 1
    await doer.house.stop()


@pytest.mark.parametrize("how", ["worker", "hermes", "delete"])
async def test_a_step_that_was_cut_off_is_unknown_and_never_running(
    house: House, book: Logbook, how: str
) -> None:
    doer = Doer(house)
    house.open()
    doer.day(make="die" if how == "worker" else "sleep")
    live = await doer.begin(request_id="r1")
    await doer.affected()
    if how == "hermes":
        doer.house = await open_again(house, book)
    else:
        if how == "delete":
            house.pipeline.cancel(live)
        await house.end(live)
    doer.day()
    for _ in range(2):
        record = await doer.send(retry_of="r1")
        assert error_of(record) == UNKNOWN
        assert record["envelope"]["warning"] == "It may have taken effect."
    assert len(doer.effects) == 1
    doer.day(lookup="found")
    assert (await doer.send(retry_of="r1"))["envelope"]["data"] == FOUND
    doer.day()
    assert (await doer.send(retry_of="r1"))["envelope"]["data"] == FOUND, "what was looked up is kept"
    assert len(doer.effects) == 1
    await doer.house.stop()


async def test_an_unknown_step_that_turns_out_not_to_be_done_is_done(house: House) -> None:
    doer = Doer(house)
    house.open()
    doer.day(make="die")
    failed = await doer.send()
    doer.day(lookup="absent")
    assert (await doer.send(retry_of=failed["request_id"]))["envelope"]["data"] == TICKET | {"n": 2}


async def test_a_call_that_may_be_repeated_finds_its_own_step_unknown_after_a_crash(house: House) -> None:
    doer = Doer(house, intents=[{"name": "p"}])
    house.open()
    doer.day(make="die")
    record = await doer.send(payload={"text": "建单"})
    assert (record["attempts"], error_of(record)) == (
        2,
        ("plugin_error", "无法确定上一次执行是否已经完成，为避免重复，没有再次执行。"),
    )
    assert record["envelope"]["warning"] == "该操作可能已经生效。"
    assert len(doer.effects) == 1


@pytest.mark.parametrize("make", ["ignore cancel", "block"])
async def test_what_is_done_within_the_grace_after_the_time_out_is_kept(house: House, make: str) -> None:
    doer = Doer(house, timeout=0.5)
    house.open()
    doer.day(make=make, seconds=1)
    late = await doer.send()
    assert error_of(late) == ("plugin_timeout", "The tool timed out after 0.5 s")
    assert (await doer.send(retry_of=late["request_id"]))["envelope"]["data"] == TICKET
    assert len(doer.effects) == 1


async def test_retries_in_parallel_while_the_step_is_stuck_can_do_nothing_and_get_its_result_later(
    house: House,
) -> None:
    doer = Doer(house, timeout=0.6, workers={"min": 2, "max": 2})
    house.open()
    await eventually(lambda: len(house.plugin("p")["workers"]) == 2)
    doer.day(make="block", seconds=1.5)
    late = await doer.send(payload={"text": "create it"})
    assert error_of(late)[0] == "plugin_timeout"
    three = (doer.send(retry_of=late["request_id"]) for _ in range(3))
    record, *others = sorted(await asyncio.gather(*three, return_exceptions=True), key=str, reverse=True)
    assert [type(other) for other in others] == [UnderWay, UnderWay]
    assert not isinstance(record, BaseException)
    assert error_of(record) == RUNNING
    assert record["envelope"]["error"]["retryable"] is True
    words = [("once.done", {"key": "issue", "result": 1}), ("once.fail", {"key": "issue"})]
    doer.day(say=[*words, ("once.begin", {"key": "issue"}), *words])
    answers = (await doer.send(retry_of=late["request_id"]))["envelope"]["data"]
    assert answers.pop(2) == {"state": "running"}
    assert [code for code, _ in answers] == [-32602] * 4, "a stranger can neither settle the key nor free it"
    doer.day()
    await eventually(lambda: [worker["busy"] for worker in house.plugin("p")["workers"]] == [0, 0])
    assert (await doer.send(retry_of=late["request_id"]))["envelope"]["data"] == TICKET
    assert len(doer.effects) == 1


async def test_a_step_that_is_stuck_for_ever_is_unknown_once_its_worker_is_killed(house: House) -> None:
    doer = Doer(house, timeout=0.5)
    house.open()
    doer.day(make="block", seconds=600)
    late = await doer.send()
    doer.day()
    three = (doer.send(retry_of=late["request_id"]) for _ in range(3))
    ends = await asyncio.gather(*three, return_exceptions=True)
    assert sorted(type(end).__name__ for end in ends) == ["UnderWay", "UnderWay", "dict"]
    doer.day(lookup="found")
    assert (await doer.send(retry_of=late["request_id"]))["envelope"]["data"] == FOUND
    assert len(doer.effects) == 1


async def test_messages_principals_plugins_and_keys_do_not_share_what_was_done(house: House) -> None:
    one, other = Doer(house), Doer(house, "q")
    house.open()
    for doer in (one, other):
        for caller in (None, CI):
            whose = {} if caller is None else {"caller": caller}
            await doer.send(request_id=f"{doer.name}1", payload={"keys": ["a", "b", "a"]}, **whose)
        await doer.send(request_id="r2", payload={"keys": ["a"]}, **({} if doer is one else {"caller": CI}))
    assert one.effects == ["p1", "p1", "p1", "p1", "r2"]
    assert other.effects == ["q1", "q1", "q1", "q1", "r2"]
    assert [len([1 async for _ in house.store.scan(f"once/{name}/")]) for name in ("p", "q")] == [5, 5]


RAW: list[tuple[list[tuple[str, dict[str, Any]]], list[Any]]] = [
    ([("once.done", {"key": "k", "result": 1})], [-32602]),
    ([("once.fail", {"key": "k"})], [-32602]),
    ([("once.begin", {"key": "k"}), ("once.begin", {"key": "k"})], ["new", "running"]),
    ([("once.begin", {"key": "钥匙🔑"}), ("once.done", {"key": "钥匙🔑"})], ["new", {}]),
    (
        [
            ("once.begin", {"key": "k"}),
            ("once.done", {"key": "k", "result": 1}),
            ("once.begin", {"key": "k"}),
        ],
        ["new", {}, "done"],
    ),
    (
        [("once.begin", {"key": "k"}), ("once.fail", {"key": "k"}), ("once.begin", {"key": "k"})],
        ["new", {}, "new"],
    ),
    (
        [("once.begin", {"key": "k"}), ("once.done", {"key": "k"}), ("once.done", {"key": "k", "result": 2})],
        ["new", {}, -32602],
    ),
    (
        [
            ("once.begin", {"key": "k"}),
            ("once.done", {"key": "k"}),
            ("once.fail", {"key": "k"}),
            ("once.begin", {"key": "k"}),
        ],
        ["new", {}, -32602, "done"],
    ),
    ([("once.begin", {"key": "x" * 512}), ("once.begin", {"key": "x" * 513})], ["new", -32602]),
    ([("once.begin", {"key": key}) for key in ("", None, 1, ["k"])], [-32602] * 4),
    ([("once.begin", {}), ("once.later", {"key": "k"}), ("other", {})], [-32602, -32601, -32601]),
]


async def test_a_worker_of_any_kind_is_answered_as_the_wire_says(house: House) -> None:
    doer = Doer(house)
    house.open()
    for said, expected in RAW:
        answers = await doer.say(*said)
        assert [
            answer[0] if isinstance(answer, list) else answer.get("state", answer) for answer in answers
        ] == expected, said


async def test_a_call_may_hold_a_thousand_keys_and_those_it_has_settled_count_no_more(house: House) -> None:
    doer = Doer(house)
    house.open()
    said = [("once.begin", {"key": str(number)}) for number in range(1000)]
    said += [("once.begin", {"key": "more"})] * 199 + [
        ("once.fail", {"key": "7"}),
        ("once.begin", {"key": "more"}),
    ]
    answers = await doer.say(*said)
    assert answers[:1000] == [{"state": "new"}] * 1000
    assert {answer[0] for answer in answers[1000:1199]} == {-32602}
    assert answers[1199:] == [{}, {"state": "new"}]


async def test_a_result_that_is_nested_too_deeply_leaves_the_step_unknown_and_is_no_fault_of_hermes(
    house: House, book: Logbook
) -> None:
    doer = Doer(house)
    house.open()
    doer.day(make="deep")
    first = await doer.send()
    assert error_of(first)[0] == "plugin_error"
    doer.day()
    assert error_of(await doer.send(retry_of=first["request_id"])) == UNKNOWN
    assert [line for line in book.lines(level="error") if "logger" in line] == []
    assert any("could not be kept" in line["text"] for line in book.lines(event="plugin_log"))


async def test_a_result_that_could_just_be_kept_can_be_told(house: House) -> None:
    doer = Doer(house)
    house.open()
    deep: Any = 0
    for _ in range(252):
        deep = [deep]
    begin = ("once.begin", {"key": "k"})
    doer.day(say=[begin, ("once.done", {"key": "k", "result": deep}), begin])
    assert (await doer.send())["envelope"]["data"] == [{"state": "new"}, {}, {"state": "done"}]
    doer.day(say=[begin, ("once.done", {"key": "k", "result": [[[deep]]]})])
    assert (await doer.send())["envelope"]["data"][1][0] == -32602


async def test_a_call_that_leaves_a_key_unsettled_leaves_it_unknown(house: House) -> None:
    doer = Doer(house)
    house.open()
    doer.day(say=[("once.begin", {"key": "issue"})], then="fail")
    live = await doer.begin()
    await house.end(live)
    assert [state["state"] for state in await doer.stored()] == ["running"]
