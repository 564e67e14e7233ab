"""ticket-create on Jira's bad days: however it answers, retries end with one ticket or say that they cannot tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hermes.sdk import OutcomeUnknown, StillRunning
from hermes.sdk.testing import Call, Kept, OnceStore, Outcome, load, run
from tests.support.jira import TOKEN, FakeJira

handle = load(Path(__file__).parents[2] / "plugins" / "ticket-create")


@pytest.fixture
def store() -> OnceStore:
    return OnceStore()


async def order(
    jira: FakeJira, store: OnceStore, *, within: float = 20, lookup: float = 0, locale: str = "en"
) -> Outcome:
    config = {"base_url": jira.url, "token": TOKEN, "project": "OPS", "lookup_seconds": lookup}
    call = Call(once=store, timeout=within)
    return await run(handle, {"summary": "磁盘满了"}, config=config, locale=locale, call=call)


def keys(jira: FakeJira) -> list[str]:
    return [issue["key"] for issue in jira.issues]


IN_DOUBT: list[dict[str, Any]] = [
    {"then": "drop"},
    {"then": "cut"},
    {"then": "odd"},
    {"status": 500},
    {"status": 502, "then": "odd"},
    {"status": 408},
    {"status": 202},
]


@pytest.mark.parametrize("day", IN_DOUBT)
@pytest.mark.parametrize("locale", ["zh", "en"])
async def test_a_ticket_that_was_created_without_a_good_answer_is_found_by_the_retry(
    jira: FakeJira, store: OnceStore, day: dict[str, Any], locale: str
) -> None:
    jira.start_day(**day)
    with pytest.raises(OutcomeUnknown) as told:
        await order(jira, store, locale=locale)
    assert str(told.value).isascii() == (locale == "en")
    assert store.kept == {"issue": Kept("unknown")}
    outcome = await order(jira, store, locale=locale)
    assert (outcome.data["key"], outcome.data["summary"]) == ("OPS-1", "磁盘满了")
    assert (keys(jira), store.kept["issue"].state) == (["OPS-1"], "done")


async def test_a_ticket_that_was_not_created_is_created_by_the_retry(
    jira: FakeJira, store: OnceStore
) -> None:
    jira.start_day(status=503, creates=False)
    with pytest.raises(OutcomeUnknown):
        await order(jira, store)
    jira.start_day()
    outcome = await order(jira, store, locale="zh")
    assert (outcome.data["key"], keys(jira)) == ("OPS-1", ["OPS-1"])
    assert [line.text for line in outcome.progress] == [
        "上一次的结果不明，正在 Jira 中查找是否已经创建",
        "上一次没有创建成功，重新创建",
        "正在项目 OPS 中创建工单",
    ]


async def test_an_answer_shortly_after_the_time_out_is_kept(jira: FakeJira, store: OnceStore) -> None:
    jira.start_day(answer_after=1.5)
    outcome = await order(jira, store, within=1.0)  # the time is up, and what comes in the grace is taken
    assert outcome.data["key"] == "OPS-1"
    assert store.kept == {"issue": Kept("done", outcome.data)}


async def test_an_answer_after_the_grace_is_looked_for_by_the_retry(jira: FakeJira, store: OnceStore) -> None:
    jira.start_day(answer_after=20)
    with pytest.raises(TimeoutError):
        await order(jira, store, within=1.0)
    assert store.kept == {"issue": Kept("unknown")}
    assert (await order(jira, store)).data["key"] == "OPS-1"
    assert keys(jira) == ["OPS-1"]


async def test_a_ticket_that_is_created_late_is_waited_for(jira: FakeJira, store: OnceStore) -> None:
    jira.start_day(create_after=3)
    with pytest.raises(TimeoutError):
        await order(jira, store, within=1.0)
    assert keys(jira) == []
    assert (await order(jira, store, lookup=10)).data["key"] == "OPS-1"
    assert keys(jira) == ["OPS-1"]


async def test_a_ticket_that_the_search_shows_late_is_waited_for(jira: FakeJira, store: OnceStore) -> None:
    jira.start_day(then="drop", search_lag=0.8)
    with pytest.raises(OutcomeUnknown):
        await order(jira, store)
    assert (await order(jira, store, lookup=10)).data["key"] == "OPS-1"
    assert keys(jira) == ["OPS-1"]


@pytest.mark.parametrize("gone", [404, 410])
async def test_jira_cloud_is_searched_in_its_new_way(jira: FakeJira, store: OnceStore, gone: int) -> None:
    jira.start_day(then="drop", old_search=gone)
    with pytest.raises(OutcomeUnknown):
        await order(jira, store)
    assert (await order(jira, store)).data["key"] == "OPS-1"
    assert [request["path"].partition("?")[0] for request in jira.seen] == [
        "/rest/api/2/issue",
        "/rest/api/2/search",
        "/rest/api/3/search/jql",
    ]


@pytest.mark.parametrize(
    "day",
    [
        {"search": 400},
        {"search": 401},
        {"search": 404, "old_search": 404},
        {"search": 503},
        {"search_then": "drop"},
        {"search_then": "cut"},
        {"search_then": "odd"},
        {"search_then": "move"},
    ],
)
async def test_if_jira_cannot_be_asked_nothing_is_created(
    jira: FakeJira, store: OnceStore, day: dict[str, Any]
) -> None:
    jira.start_day(**day)
    store.kept["issue"] = Kept("unknown")
    for locale in ("zh", "en"):
        with pytest.raises(OutcomeUnknown) as told:
            await order(jira, store, locale=locale)
        assert str(told.value).isascii() == (locale == "en")
    assert (keys(jira), store.kept) == ([], {"issue": Kept("unknown")})
    assert {request["host"] for request in jira.seen} == {"127.0.0.1"}


async def test_without_the_time_to_wait_for_the_search_nothing_is_created(
    jira: FakeJira, store: OnceStore
) -> None:
    store.kept["issue"] = Kept("unknown")
    with pytest.raises(OutcomeUnknown):
        await order(jira, store, within=1.5, lookup=8)
    assert (keys(jira), store.kept) == ([], {"issue": Kept("unknown")})


async def test_what_another_call_creates_right_now_is_left_to_it(jira: FakeJira, store: OnceStore) -> None:
    store.kept["issue"] = Kept("running")
    with pytest.raises(StillRunning):
        await order(jira, store)
    assert jira.seen == []
