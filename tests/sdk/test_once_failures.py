"""The bad days of `context["once"]`: cancelled at each step, a host that cannot keep, a wire that closes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hermes.sdk.wire import (
    CANCELLED,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    PLUGIN_FAILED,
    STORE_AWAY,
)
from tests.support.at_work import ISSUE, MAKE, MINE, WAIT, asked, at_work, error


@pytest.mark.parametrize("state", ["new", "unknown"])
def test_a_cancelled_make_or_lookup_settles_nothing(tmp_path: Path, state: str) -> None:
    with at_work(tmp_path, make=WAIT, lookup=WAIT) as (worker, call, begin):
        worker.grant(begin, state=state)
        assert worker.read()["params"]["text"] == "at it"
        worker.cancel()
        answer = worker.answer(call)
    assert (error(answer)[0], answer[1]) == (CANCELLED, [])


def test_what_blocks_beyond_its_time_is_kept_although_the_cancel_came_first(tmp_path: Path) -> None:
    make = f"print('at it'); time.sleep(0.5)\n{MAKE}"
    with at_work(tmp_path, make=make) as (worker, call, begin):
        worker.grant(begin, state="new")
        assert worker.read()["params"]["text"] == "at it"
        worker.cancel()
        answer, (done,) = worker.answer(call)
    assert (done["method"], done["params"]["result"]) == ("once.done", ISSUE)
    assert answer["error"]["code"] == CANCELLED


def test_a_make_that_finishes_in_spite_of_a_cancel_is_kept(tmp_path: Path) -> None:
    make = f"try:\n    {WAIT}\nexcept asyncio.CancelledError:\n    {MAKE}"
    with at_work(tmp_path, make=make) as (worker, call, begin):
        worker.grant(begin, state="new")
        worker.read()
        worker.cancel()
        done = worker.asked()
        assert (done["method"], done["params"]["result"]) == ("once.done", ISSUE)
        worker.grant(done)
        assert worker.answer(call)[0]["result"] == ISSUE


@pytest.mark.parametrize(("state", "raised"), [("new", "ValueError('half done')"), ("unknown", "NotDone")])
def test_what_is_raised_while_being_cancelled_settles_nothing(
    tmp_path: Path, state: str, raised: str
) -> None:
    body = f"try:\n    {WAIT}\nexcept asyncio.CancelledError:\n    raise {raised}"
    with at_work(tmp_path, make=body, lookup=body) as (worker, call, begin):
        worker.grant(begin, state=state)
        worker.read()
        worker.cancel()
        answer = worker.answer(call)
    assert (error(answer)[0], asked(answer)) == (PLUGIN_FAILED, [])


@pytest.mark.parametrize("together", [True, False])
def test_a_key_that_is_granted_to_a_cancelled_call_is_given_back(tmp_path: Path, *, together: bool) -> None:
    with at_work(tmp_path, make="print('made')") as (worker, call, begin):
        granted = {"jsonrpc": "2.0", "id": begin["id"], "result": {"state": "new"}}
        cancel = {"jsonrpc": "2.0", "method": "cancel", "params": {"call": "c1"}}
        if together:
            worker.write(granted, cancel)
        else:
            worker.write(cancel)
            worker.write(granted)
        answer, (fail,) = worker.answer(call)
    assert (fail["method"], fail["params"]) == ("once.fail", MINE)
    assert answer["error"]["code"] == CANCELLED


@pytest.mark.parametrize("answer", [{"state": "unknown"}, {"state": "running"}, {"state": "done"}, None])
def test_a_key_that_was_not_new_is_not_freed_by_a_cancelled_call(tmp_path: Path, answer: Any) -> None:
    with at_work(tmp_path) as (worker, call, begin):
        worker.cancel()
        worker.write({"jsonrpc": "2.0", "id": begin["id"], "result": answer})
        collected = worker.answer(call)
    assert (error(collected)[0], collected[1]) == (CANCELLED, [])


@pytest.mark.parametrize("code", [STORE_AWAY, METHOD_NOT_FOUND, INVALID_PARAMS])
def test_nothing_runs_if_the_host_cannot_say_what_is_known(tmp_path: Path, code: int) -> None:
    with at_work(tmp_path, make="print('made')") as (worker, call, begin):
        worker.refuse(begin, code, message="存储不可用")
        answer = worker.answer(call)
    assert error(answer) == (PLUGIN_FAILED, "OnceUnavailable: 存储不可用")
    assert "made" not in [frame["params"]["text"] for frame in answer[1]]


@pytest.mark.parametrize("result", [None, {}, {"state": "odd"}, "new"])
def test_nothing_runs_on_an_answer_that_makes_no_sense(tmp_path: Path, result: Any) -> None:
    with at_work(tmp_path, make="print('made')") as (worker, call, begin):
        worker.write({"jsonrpc": "2.0", "id": begin["id"], "result": result})
        answer = worker.answer(call)
    assert error(answer)[1].startswith("OnceUnavailable: the host answered")
    assert asked(answer) == []


def test_a_result_that_cannot_be_kept_is_returned_all_the_same_with_a_warning_in_the_log(
    tmp_path: Path,
) -> None:
    with at_work(tmp_path) as (worker, call, begin):
        worker.grant(begin, state="new")
        worker.refuse(worker.asked(), STORE_AWAY, message="存储不可用")
        answer, before = worker.answer(call)
    assert answer["result"] == ISSUE
    (line,) = [frame["params"] for frame in before]
    assert (line["level"], line["call"], "存储不可用" in line["text"]) == ("warning", "c1", True)


def test_the_error_of_a_make_stays_the_error_if_its_key_cannot_be_freed(tmp_path: Path) -> None:
    with at_work(tmp_path, make="raise LookupError('gone')") as (worker, call, begin):
        worker.grant(begin, state="new")
        worker.refuse(worker.asked(), STORE_AWAY)
        assert error(worker.answer(call)) == (PLUGIN_FAILED, "LookupError: gone")


@pytest.mark.parametrize("state", [None, "new"])
def test_a_worker_leaves_when_the_wire_closes_while_it_waits_for_an_answer(
    tmp_path: Path, state: str | None
) -> None:
    with at_work(tmp_path) as (worker, _, begin):
        if state is not None:
            worker.grant(begin, state=state)
            assert worker.asked()["method"] == "once.done"
        worker.hang_up()
        assert worker.end() == (0, "")
