"""`context["once"]` in a real worker process, against a host whose answers the test gives by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes.sdk.wire import (
    OUTCOME_UNKNOWN,
    PLUGIN_FAILED,
    STILL_RUNNING,
)
from tests.support.at_work import ISSUE, MAKE, MINE, asked, at_work, error
from tests.support.by_hand import ByHand


def test_a_new_key_is_made_kept_and_returned_as_json_gives_it_back(tmp_path: Path) -> None:
    with at_work(tmp_path, make="return {'key': ('OPS', 1)}") as (worker, call, begin):
        worker.grant(begin, state="new")
        done = worker.asked()
        assert done["method"] == "once.done"
        assert done["params"] == {**MINE, "result": {"key": ["OPS", 1]}}
        worker.grant(done)
        assert worker.answer(call) == (
            {"jsonrpc": "2.0", "id": call, "result": {"key": ["OPS", 1]}},
            [],
        )


def test_what_is_kept_is_returned_and_nothing_runs(tmp_path: Path) -> None:
    with at_work(tmp_path, make="print('made')", lookup="print('looked')") as (worker, call, begin):
        worker.grant(begin, state="done", result=ISSUE)
        answer, before = worker.answer(call)
    assert (answer["result"], before) == (ISSUE, [])


def test_a_failed_make_frees_the_key_before_its_error_is_told(tmp_path: Path) -> None:
    with at_work(tmp_path, make="raise LookupError('没有项目')") as (worker, call, begin):
        worker.grant(begin, state="new")
        fail = worker.asked()
        assert (fail["method"], fail["params"]) == ("once.fail", MINE)
        worker.grant(fail)
        assert error(worker.answer(call)) == (PLUGIN_FAILED, "LookupError: 没有项目")


@pytest.mark.parametrize(
    ("make", "code", "message"),
    [
        ("raise OutcomeUnknown('连接断了')", OUTCOME_UNKNOWN, "连接断了"),
        ("raise KeyboardInterrupt", PLUGIN_FAILED, "KeyboardInterrupt"),
        ("sys.exit(3)", PLUGIN_FAILED, "SystemExit: 3"),
        ("return {1, 2}", OUTCOME_UNKNOWN, "the result of 'issue' cannot be written as JSON"),
        ("return float('nan')", OUTCOME_UNKNOWN, "the result of 'issue' cannot be written as JSON"),
    ],
)
def test_a_key_that_may_have_been_done_is_not_freed(
    tmp_path: Path, make: str, *, code: int, message: str
) -> None:
    with at_work(tmp_path, make=make) as (worker, call, begin):
        worker.grant(begin, state="new")
        answer = worker.answer(call)
    assert asked(answer) == []
    assert error(answer)[0] == code
    assert error(answer)[1].startswith(message)


def test_a_make_that_is_not_async_has_run_and_is_not_taken_for_failed(tmp_path: Path) -> None:
    code = "async def handle(message, context):\n    return await context['once']('issue', lambda: {})\n"
    with ByHand(tmp_path, code) as worker:
        worker.initialize()
        call = worker.handle()
        worker.grant(worker.asked(), state="new")
        answer = worker.answer(call)
    assert (error(answer)[0], asked(answer)) == (OUTCOME_UNKNOWN, [])


def test_a_key_that_another_call_holds_is_still_running(tmp_path: Path) -> None:
    with at_work(tmp_path, make="print('made')", lookup="print('looked')") as (worker, call, begin):
        worker.grant(begin, state="running")
        answer = worker.answer(call)
    assert (error(answer)[0], asked(answer)) == (STILL_RUNNING, [])
    assert "issue" in error(answer)[1]


def test_an_unknown_key_without_a_lookup_is_told(tmp_path: Path) -> None:
    with at_work(tmp_path, make="print('made')") as (worker, call, begin):
        worker.grant(begin, state="unknown")
        answer = worker.answer(call)
    assert (error(answer)[0], asked(answer)) == (OUTCOME_UNKNOWN, [])


def test_what_lookup_finds_is_kept_and_make_does_not_run(tmp_path: Path) -> None:
    with at_work(tmp_path, make="print('made')", lookup=MAKE) as (worker, call, begin):
        worker.grant(begin, state="unknown")
        done = worker.asked()
        assert (done["method"], done["params"]) == ("once.done", {**MINE, "result": ISSUE})
        worker.grant(done)
        answer, before = worker.answer(call)
    assert (answer["result"], before) == (ISSUE, [])


def test_what_lookup_finds_undone_is_freed_begun_again_and_made(tmp_path: Path) -> None:
    with at_work(tmp_path, lookup="raise NotDone") as (worker, call, begin):
        worker.grant(begin, state="unknown")
        fail = worker.asked()
        assert fail["method"] == "once.fail"
        worker.grant(fail)
        again = worker.asked()
        assert (again["method"], again["params"]) == ("once.begin", MINE)
        worker.grant(again, state="new")
        worker.grant(worker.asked())
        assert worker.answer(call)[0]["result"] == ISSUE


def test_a_key_that_is_unknown_again_and_again_is_given_up(tmp_path: Path) -> None:
    with at_work(tmp_path, make="print('made')", lookup="raise NotDone") as (worker, call, begin):
        worker.grant(begin, state="unknown")
        for _ in range(2):
            worker.grant(worker.asked())
            worker.grant(worker.asked(), state="unknown")
        worker.grant(worker.asked())
        answer = worker.answer(call)
    assert (error(answer)[0], asked(answer)) == (STILL_RUNNING, [])


@pytest.mark.parametrize(
    ("lookup", "code", "message"),
    [
        ("raise OutcomeUnknown('Jira 问不到')", OUTCOME_UNKNOWN, "Jira 问不到"),
        ("raise ConnectionError('down')", PLUGIN_FAILED, "ConnectionError: down"),
        ("return b'x'", OUTCOME_UNKNOWN, "the result of 'issue'"),
    ],
)
def test_a_lookup_that_cannot_tell_leaves_the_key_unknown(
    tmp_path: Path, lookup: str, *, code: int, message: str
) -> None:
    with at_work(tmp_path, lookup=lookup) as (worker, call, begin):
        worker.grant(begin, state="unknown")
        answer = worker.answer(call)
    assert asked(answer) == []
    assert error(answer)[0] == code
    assert error(answer)[1].startswith(message)


@pytest.mark.parametrize("state", ["new", "unknown"])
def test_the_second_of_two_at_one_key_in_one_call_is_turned_away_and_a_later_one_is_not(
    tmp_path: Path, state: str
) -> None:
    code = f"""
import asyncio
async def handle(message, context):
    async def make():
        {MAKE}
    def attempt():
        return context["once"]("issue", make, lookup=make)
    first, second = await asyncio.gather(attempt(), attempt(), return_exceptions=True)
    return [first, type(second).__name__, await attempt()]
"""
    with ByHand(tmp_path, code) as worker:
        worker.initialize()
        call = worker.handle()
        worker.grant(worker.asked(), state=state)
        done = worker.asked()
        assert done["method"] == "once.done"
        worker.grant(done)
        worker.grant(worker.asked(), state="done", result=7)
        answer, before = worker.answer(call)
    assert (answer["result"], before) == ([ISSUE, "StillRunning", 7], [])


@pytest.mark.parametrize("key", ["7", "None", "''", "b'issue'", "'k' * 513", r"'half \ud800'"])
def test_a_key_that_is_no_text_of_1_to_512_characters_is_refused_and_nothing_asked(
    tmp_path: Path, key: str
) -> None:
    code = f"async def handle(message, context):\n    return await context['once']({key}, None)\n"
    with ByHand(tmp_path, code) as worker:
        worker.initialize()
        answer = worker.answer(worker.handle())
    assert asked(answer) == []
    assert error(answer)[1].startswith(("ValueError", "UnicodeEncodeError"))
