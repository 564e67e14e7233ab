"""What every journal has to do, whatever keeps it."""

from __future__ import annotations

import asyncio
import inspect
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hermes.catalog import find, known
from hermes.journal.base import Entry, Journal, Query, Trimmed
from tests.support.entries import ended, entry, listed


@pytest.fixture(params=known("journal"))
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Journal]:
    """Makes journals of one kind, each on the same place if the kind has one."""
    offered: dict[str, Any] = {
        "file": tmp_path / "journal.db",
        "sync": "normal",
        "on_commit": lambda _seconds, _entries: None,
    }
    adapter = find("journal", request.param)
    wanted = {name: offered[name] for name in inspect.signature(adapter).parameters if name in offered}

    def make_one() -> Journal:
        made: Journal = adapter(**wanted)
        return made

    return make_one


@pytest.fixture
async def journal(make: Callable[[], Journal]) -> AsyncIterator[Journal]:
    journal = make()
    await journal.open()
    yield journal
    await journal.close()


async def ids(entries: Awaitable[Sequence[Entry]]) -> list[int]:
    return [one.id for one in await entries]


async def test_an_entry_comes_back_as_it_was_kept(journal: Journal) -> None:
    accepted = entry(journal, owner="key:运维", plugin=None, data=None, fingerprint=None)
    assert await journal.append(accepted) is None
    assert await journal.find(accepted.request_id, owner="key:运维") == accepted
    finished = ended(accepted, status="failed", code="not_found", data=b'{"rows":[1,2]}')
    await journal.finish(finished)
    assert await journal.find(accepted.request_id, owner="key:运维") == finished
    assert await journal.select(Query()) == listed(finished)


async def test_what_was_never_kept_is_not_found(journal: Journal) -> None:
    await journal.append(entry(journal, request_id="mine"))
    assert await journal.find("other", owner=None) is None
    assert await journal.find("mine", owner="key:other") is None


async def test_a_request_id_that_the_owner_has_used_keeps_nothing_and_gives_the_older_entry(
    journal: Journal,
) -> None:
    older = entry(journal, request_id="again")
    assert await journal.append(older) is None
    assert await journal.append(entry(journal, request_id="again", session_id="s2")) == older
    finished = ended(older)
    await journal.finish(finished)
    assert await journal.append(entry(journal, request_id="again")) == finished
    assert await journal.select(Query()) == listed(finished)


async def test_two_owners_may_use_one_request_id(journal: Journal) -> None:
    mine, theirs = (entry(journal, request_id="r", owner=owner) for owner in ("local:local", "key:ci"))
    assert [await journal.append(one) for one in (mine, theirs)] == [None, None]
    assert await journal.find("r", owner="local:local") == mine
    assert await journal.find("r", owner="key:ci") == theirs
    assert await journal.find("r", owner=None) == theirs


async def test_of_many_senders_of_one_request_id_at_once_one_is_kept_and_the_others_get_it(
    journal: Journal,
) -> None:
    senders = [entry(journal, request_id="same") for _ in range(20)]
    others = [entry(journal) for _ in range(20)]
    answers = await asyncio.gather(
        *(journal.append(one) for pair in zip(senders, others, strict=True) for one in pair)
    )
    (kept,) = [one for one, answer in zip(senders, answers[::2], strict=True) if answer is None]
    assert [answer for answer in answers[::2] if answer is not None] == [kept] * 19
    assert answers[1::2] == [None] * 20
    assert set(await journal.select(Query(limit=100))) == {kept, *others}


async def test_ids_grow_and_go_on_after_the_journal_was_opened_again(make: Callable[[], Journal]) -> None:
    journal = make()
    await journal.open()
    given = [journal.next_id() for _ in range(3)]
    assert given == sorted(set(given))
    last = entry(journal)
    await journal.append(last)
    await journal.close()
    await journal.open()
    assert journal.next_id() > last.id
    assert await journal.find(last.request_id, owner=None) == last
    await journal.close()


async def test_every_filter_alone_and_all_of_them_together(journal: Journal) -> None:
    plain = ended(entry(journal))
    failed = ended(
        entry(journal, owner="key:ci", session_id="s2", origin="key:ci/r0"),
        status="failed",
        code="not_found",
        plugin="db",
    )
    waiting = entry(journal, session_id="s2")
    for one in (plain, failed, waiting):
        await journal.append(replace(one, status="accepted", finished_at=None))
        await journal.finish(one)
    chosen = {
        Query(): [waiting, failed, plain],
        Query(owner="local:local"): [waiting, plain],
        Query(session_id="s2"): [waiting, failed],
        Query(status="accepted"): [waiting],
        Query(status="failed"): [failed],
        Query(code="not_found"): [failed],
        Query(plugin="db"): [failed],
        Query(origin="key:ci/r0"): [failed],
        Query(origin="key:ci/r"): [],
        Query(before=waiting.id): [failed, plain],
        Query(limit=1): [waiting],
        Query("key:ci", "s2", "failed", "not_found", "db", "key:ci/r0", before=waiting.id, limit=5): [failed],
        Query(owner="key:ci", status="succeeded"): [],
    }
    assert {query: await journal.select(query) for query in chosen} == {
        query: listed(*entries) for query, entries in chosen.items()
    }


async def test_pages_follow_each_other_without_gap_and_without_what_came_meanwhile(journal: Journal) -> None:
    wanted = []
    for number in range(10):
        one = entry(journal, session_id="even" if number % 2 == 0 else "odd")
        await journal.append(one)
        wanted.append(one)
    pages, before = [], None
    while page := await journal.select(Query(session_id="even", before=before, limit=2)):
        pages.append([one.id for one in page])
        before = page[-1].id
        await journal.append(entry(journal, session_id="even"))
    even = [one.id for one in reversed(wanted) if one.session_id == "even"]
    assert pages == [even[:2], even[2:4], even[4:]]


async def test_what_has_not_ended_comes_oldest_first_in_pages(journal: Journal) -> None:
    kept = [entry(journal) for _ in range(6)]
    for one in kept:
        await journal.append(one)
    await journal.finish(ended(kept[1]))
    await journal.finish(replace(kept[2], status="running"))
    await journal.finish(ended(kept[3], status="failed", code="plugin_error"))
    open_ids = [kept[0].id, kept[2].id, kept[4].id, kept[5].id]
    assert await ids(journal.replay(after=0, limit=100)) == open_ids
    assert await ids(journal.replay(after=0, limit=3)) == open_ids[:3]
    assert await ids(journal.replay(after=open_ids[2], limit=3)) == open_ids[3:]
    assert await ids(journal.replay(after=open_ids[3], limit=3)) == []
    assert await journal.unfinished() == 4


async def test_what_has_not_ended_comes_whole(journal: Journal) -> None:
    accepted = entry(journal, origin="local:local/r0")
    await journal.append(accepted)
    waiting = replace(accepted, status="awaiting_confirmation", events='[{"text":"要执行吗？"}]'.encode())
    await journal.claim(waiting)
    assert await journal.replay(after=0, limit=9) == [waiting]
    await journal.finish(ended(waiting))
    assert (await journal.replay(after=0, limit=9), await journal.unfinished()) == ([], 0)


async def test_trimming_removes_what_ended_and_came_before_a_time(journal: Journal) -> None:
    kept = await filled(journal, 10)
    boundary = kept[6].received_at
    assert await journal.trim(received_before=boundary, after=0, limit=100) == Trimmed(6, None)
    assert await journal.select(Query()) == listed(*kept[:5:-1])
    assert await journal.find(kept[0].request_id, owner=None) is None
    assert await journal.trim(received_before=boundary, after=0, limit=100) == Trimmed(0, None)
    assert await journal.append(entry(journal, request_id=kept[0].request_id)) is None, "the id is free again"


async def filled(journal: Journal, count: int, **members: Any) -> list[Entry]:
    """Keep so many entries that have ended."""
    kept = [ended(entry(journal, **members)) for _ in range(count)]
    for one in kept:
        await journal.append(replace(one, status="accepted", finished_at=None))
        await journal.finish(one)
    return kept


async def test_what_has_not_ended_stays_however_old(journal: Journal) -> None:
    waiting = [entry(journal, status=status) for status in ("accepted", "awaiting_confirmation", "running")]
    for one in waiting:
        await journal.append(one)
    await filled(journal, 3)
    assert await journal.trim(received_before=math.inf, after=0, limit=100) == Trimmed(3, None)
    assert await journal.replay(after=0, limit=9) == waiting


async def test_an_entry_of_a_time_to_come_keeps_no_older_one(journal: Journal) -> None:
    for received_at in (time.time() + 86400, 1e9, time.time(), 1e9):
        await filled(journal, 1, received_at=received_at)
    assert (await journal.trim(received_before=1.5e9, after=0, limit=9)).removed == 1


async def test_steps_of_trimming_follow_each_other_to_the_end(journal: Journal) -> None:
    kept = await filled(journal, 4)
    stays = entry(journal)
    await journal.append(stays)
    kept += await filled(journal, 2)
    steps, after = [], 0
    for _ in range(4):
        step = await journal.trim(received_before=math.inf, after=after, limit=2)
        steps.append((step.removed, step.after))
        if step.after is None:
            break
        after = step.after
    assert steps == [(2, kept[1].id), (2, kept[3].id), (1, kept[4].id), (1, None)]
    assert await ids(journal.select(Query())) == [stays.id]


async def test_nothing_is_trimmed_from_an_empty_journal_or_beyond_its_end(journal: Journal) -> None:
    assert await journal.trim(received_before=math.inf, after=0, limit=5) == Trimmed(0, None)
    (kept,) = await filled(journal, 1)
    assert await journal.trim(received_before=math.inf, after=kept.id, limit=5) == Trimmed(0, None)


async def test_the_size_grows_with_what_is_kept_and_shrinks_with_what_is_removed(journal: Journal) -> None:
    empty = await journal.size()
    await filled(journal, 20, record=b'{"text":"' + b"x" * 20_000 + b'"}')
    full = await journal.size()
    assert full - empty >= 20 * 20_000
    await journal.trim(received_before=math.inf, after=0, limit=10)
    assert await journal.size() - empty < (full - empty) * 0.75
    await journal.trim(received_before=math.inf, after=0, limit=100)
    assert await journal.size() - empty < 100_000


async def test_what_is_appended_while_it_is_trimmed_is_kept(journal: Journal) -> None:
    await filled(journal, 30)
    new = [entry(journal, received_at=2e9) for _ in range(30)]
    trims = [journal.trim(received_before=1.9e9, after=0, limit=5) for _ in range(6)]
    both = [one for pair in zip(trims, new[::5], strict=True) for one in (pair[0], journal.append(pair[1]))]
    done = await asyncio.gather(*both, *(journal.append(one) for n, one in enumerate(new) if n % 5))
    assert sum(one.removed for one in done if isinstance(one, Trimmed)) == 30
    assert sorted(await ids(journal.select(Query(limit=100)))) == [one.id for one in new]


async def test_large_data_is_kept_whole(journal: Journal) -> None:
    accepted = entry(journal, record=b'{"text":"' + "大".encode() * 100_000 + b'"}')
    await journal.append(accepted)
    finished = ended(accepted, data=bytes(range(256)) * 4096 * 5)
    await journal.finish(finished)
    assert await journal.find(accepted.request_id, owner=None) == finished


async def test_many_at_a_time_are_all_kept(journal: Journal) -> None:
    new = [entry(journal, fingerprint=None if number % 3 else b"f") for number in range(500)]
    assert await asyncio.gather(*(journal.append(one) for one in new)) == [None] * len(new)
    finished = [ended(one) for one in new]
    await asyncio.gather(*(journal.finish(one) for one in finished))
    assert await journal.select(Query(limit=1000)) == listed(*finished[::-1])
    assert await journal.replay(after=0, limit=1000) == []


async def test_the_latest_state_wins_when_updates_follow_closely(journal: Journal) -> None:
    accepted = entry(journal)
    states = [replace(accepted, status="running"), ended(accepted)]
    await asyncio.gather(journal.append(accepted), *(journal.finish(state) for state in states))
    assert await journal.select(Query()) == listed(states[-1])


async def test_a_sender_who_goes_away_takes_nothing_back(journal: Journal) -> None:
    left, stayed = entry(journal), entry(journal)
    leaving = asyncio.ensure_future(journal.append(left))
    staying = asyncio.ensure_future(journal.append(stayed))
    await asyncio.sleep(0)
    leaving.cancel()
    assert await staying is None
    assert await ids(journal.select(Query())) == [stayed.id, left.id]


async def test_a_journal_that_works_has_no_trouble(journal: Journal) -> None:
    await journal.append(entry(journal))
    assert await journal.trouble() is None
