"""gitlab-run on GitLab's bad days: however it answers, retries end with one pipeline or say that they cannot tell."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from hermes.sdk import StillRunning
from hermes.sdk.testing import Kept
from tests.support.bench import eventually
from tests.support.gitlab import MAIN, FakeGitLab, Order, numbers, problem

IN_DOUBT: list[dict[str, Any]] = [
    {"then": "drop"},
    {"then": "cut"},
    {"then": "odd"},
    {"status": 500},
    {"status": 502, "then": "odd"},
    {"status": 503},
    {"status": 408},
    {"status": 202},
]


@pytest.mark.parametrize("day", IN_DOUBT)
@pytest.mark.parametrize("locale", ["zh", "en"])
async def test_a_pipeline_that_was_made_without_a_good_answer_is_found_by_the_retry(
    runs: FakeGitLab, order: Order, day: dict[str, Any], locale: str
) -> None:
    runs.start_day(**day)
    first = await order.attempt(locale=locale)
    assert first.error is not None
    assert (first.error["code"], first.error["retryable"]) == ("upstream_unavailable", True)
    assert {first.error["message"].isascii(), str(first.warning).isascii()} == {locale == "en"}
    assert order.store.kept == {"pipeline": Kept("unknown")}
    outcome = await order.attempt(locale=locale)
    assert (outcome.error, outcome.data["id"], outcome.data["ref"]) == (None, 101, "main")
    assert (numbers(runs), order.store.kept["pipeline"].state, order.notes) == ([101], "done", [])


async def test_a_pipeline_that_was_not_made_is_made_by_the_retry(runs: FakeGitLab, order: Order) -> None:
    runs.start_day(status=503, creates=False)
    assert problem(await order.attempt())[0] == "upstream_unavailable"
    runs.start_day(others=3)
    outcome = await order.attempt(locale="zh")
    assert (outcome.data["id"], numbers(runs)) == (104, [101, 102, 103, 104])
    assert [line.text for line in outcome.progress] == [
        "上一次的结果不明，正在 GitLab 中查找流水线是否已经启动",
        "上一次没有启动成功，重新启动",
        "正在 group/web 的 main 上启动流水线",
    ]


async def test_nothing_is_made_while_the_first_may_still_come(runs: FakeGitLab, order: Order) -> None:
    runs.start_day(status=503, creates=False)
    await order.attempt()
    runs.start_day()
    code, message = problem(await order.attempt(within=2.4, settle=600))
    assert (code, "try again in a minute" in message) == ("upstream_unavailable", True)
    assert (numbers(runs), order.store.kept) == ([], {"pipeline": Kept("unknown")})
    assert (await order.attempt(settle=0)).data["id"] == 101


async def test_a_pipeline_that_is_made_late_is_waited_for(runs: FakeGitLab, order: Order) -> None:
    runs.start_day(create_after=2)
    assert problem(await order.attempt(within=1.0))[0] == "upstream_unavailable"
    assert numbers(runs) == []
    assert (await order.attempt(settle=30)).data["id"] == 101
    assert numbers(runs) == [101]


async def test_an_answer_in_the_grace_of_a_call_that_was_cancelled_is_kept(
    runs: FakeGitLab, order: Order
) -> None:
    runs.start_day(answer_after=0.8)
    call = asyncio.create_task(order.attempt())
    await eventually(lambda: numbers(runs))
    call.cancel()
    assert (await call).data["id"] == 101
    assert order.store.kept["pipeline"].state == "done"


async def test_an_answer_after_the_grace_of_a_call_that_was_cancelled_is_looked_for(
    runs: FakeGitLab, order: Order
) -> None:
    runs.start_day(answer_after=20)
    call = asyncio.create_task(order.attempt())
    await eventually(lambda: numbers(runs))
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert order.store.kept == {"pipeline": Kept("unknown")}
    assert (await order.attempt()).data["id"] == 101
    assert numbers(runs) == [101]


async def test_it_is_found_among_many_and_under_another_name_of_its_branch(
    runs: FakeGitLab, order: Order
) -> None:
    runs.start_day(then="drop", others=120)
    await order.attempt()
    assert (await order.attempt(MAIN | {"ref": "refs/heads/main"})).data["id"] == 221
    listed = [request["path"] for request in runs.seen if "/pipelines?" in request["path"]]
    assert all("source=api&username=bot&updated_after=" in path for path in listed)


async def test_it_is_found_when_the_note_of_the_first_attempt_is_gone(runs: FakeGitLab, order: Order) -> None:
    runs.start_day(then="drop")
    await order.attempt()
    (note,) = order.notes
    noted = json.loads(note.read_text())
    assert noted["sent"] == noted["since"] <= time.time()
    for content in (None, "", "[]", '{"sent": "x"}'):
        order.store.kept["pipeline"] = Kept("unknown")
        if content is None:
            note.unlink(missing_ok=True)
        else:
            note.write_text(content)
        assert (await order.attempt(settle=600)).data["id"] == 101
    assert (
        "updated_after=1970-01-01"
        in [each for each in runs.seen if "/pipelines?" in each["path"]][-1]["path"]
    )


async def test_without_a_note_what_is_not_found_is_not_made_at_once(runs: FakeGitLab, order: Order) -> None:
    order.store.kept["pipeline"] = Kept("unknown")
    assert problem(await order.attempt(within=2.4, settle=600))[0] == "upstream_unavailable"
    assert numbers(runs) == []
    assert len(order.notes) == 1


@pytest.mark.parametrize(
    "day",
    [
        {"search": 401},
        {"search": 403},
        {"search": 404},
        {"search": 503},
        {"search_then": "drop"},
        {"search_then": "cut"},
        {"search_then": "odd"},
        {"search_then": "move"},
        {"hidden": True, "others": 1},
    ],
)
async def test_if_gitlab_cannot_be_asked_nothing_is_made(
    runs: FakeGitLab, order: Order, day: dict[str, Any]
) -> None:
    runs.start_day(**day)
    order.store.kept["pipeline"] = Kept("unknown")
    for locale in ("zh", "en"):
        outcome = await order.attempt(locale=locale)
        assert problem(outcome)[0] == "upstream_unavailable"
        assert problem(outcome)[1].isascii() == (locale == "en")
        assert outcome.warning is not None
    assert order.store.kept == {"pipeline": Kept("unknown")}
    assert [each for each in runs.seen if each["method"] == "POST"] == []
    assert {request["host"] for request in runs.seen} == {"127.0.0.1"}


async def test_what_another_call_starts_right_now_is_left_to_it(runs: FakeGitLab, order: Order) -> None:
    order.store.kept["pipeline"] = Kept("running")
    with pytest.raises(StillRunning):
        await order.attempt()
    assert runs.seen == []
