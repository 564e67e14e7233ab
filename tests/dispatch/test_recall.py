"""What was asked before a restart can be answered after it, at once; what was closed stays closed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from hermes.dispatch.live import Live
from hermes.dispatch.questions import OpenQuestion, Questions
from hermes.dispatch.recall import Recall
from hermes.journal.base import Entry, Query
from hermes.journal.memory import MemoryJournal
from tests.support.bench import HOLD, eventually
from tests.support.house import House, Shown, shown
from tests.support.logbook import Logbook

ECHO = "async def handle(message, context):\n    return [message['intent'], message['payload']]\n"
SHIP = [
    {"name": "app.ship", "keywords": {"上线": 0.7}},
    {"name": "web.ship", "keywords": {"上线": 0.7}},
    {"name": "weather", "keywords": {"天气": 0.9}},
]
SEND = """
import asyncio
from pathlib import Path
async def handle(message, context):
    while not (Path(context["data_dir"]) / "go").exists():
        await asyncio.sleep(0.01)
    for _ in range(60):
        await context["send"]("weather", {})
"""

Restart = Callable[[House], Awaitable[House]]


class SlowJournal(MemoryJournal):
    """Lists nothing by code, which is how open questions are looked for, until it is `let`, and keeps no question before it `ends`.

    It notes the sessions that are listed.
    """

    def __init__(self) -> None:
        super().__init__()
        self.let = asyncio.Event()
        self.ends = asyncio.Event()
        self.ends.set()
        self.sessions: list[str | None] = []

    async def finish(self, entry: Entry) -> None:
        if entry.code == "clarification_needed":
            await self.ends.wait()
        await super().finish(entry)

    async def select(self, query: Query) -> Sequence[Entry]:
        if query.code is not None:
            await self.let.wait()
        else:
            self.sessions.append(query.session_id)
        return await super().select(query)


@pytest.fixture
async def town(durable: House) -> House:
    """A house with a lasting journal and two tools that a sentence may mean."""
    durable.write("p", ECHO, intents=SHIP)
    durable.open()
    await durable.pipeline.recover()
    return durable


def code(record: Shown) -> str:
    error = record["envelope"]["error"]
    return error["code"] if error else "succeeded"


def is_open(house: House, session: str = "s") -> bool:
    return house.pipeline.questions.get("local:local", session) is not None


async def known(house: House) -> None:
    """Wait until everything is restored."""
    await eventually(lambda: house.pipeline.questions.is_settled(("local:local", "never heard of")))


async def test_a_question_is_open_after_a_restart_and_answered_once(town: House, restart: Restart) -> None:
    asked = await town.send("上线", session_id="s", payload={"note": 7})
    again = await restart(town)
    await known(again)
    assert is_open(again)
    record = await again.send("2", session_id="s")
    assert record["resumes"] == asked["request_id"]
    assert record["envelope"]["data"] == ["web.ship", {"text": "上线", "note": 7}]
    assert code(await again.send("1", session_id="s")) == "no_match"
    third = await restart(again)
    await known(third)
    assert not is_open(third)


async def test_what_an_answer_runs_is_run_again_after_a_kill(durable: House, restart: Restart) -> None:
    durable.write("p", HOLD, intents=SHIP)
    durable.open()
    asked = await durable.send("上线", session_id="s")
    answer = await durable.begin("2", session_id="s", request_id="a1")
    await durable.reached(answer, "TOOL_STARTED")
    again = await restart(durable)
    (durable.data("p") / "go").touch()
    await known(again)
    assert not is_open(again)
    found = await again.shelf.find("a1", owner="local:local")
    record = await again.end(found) if isinstance(found, Live) else shown(found)
    assert (record["status"], record["attempts"]) == ("succeeded", 2)
    assert (record["message"]["intent"], record["resumes"]) == ("web.ship", asked["request_id"])


@pytest.mark.parametrize("after", ["天气", "讲个笑话", "算了"])
async def test_a_question_that_was_closed_stays_closed(town: House, restart: Restart, after: str) -> None:
    await town.send("上线", session_id="s")
    await town.send(after, session_id="s")
    again = await restart(town)
    await known(again)
    assert not is_open(again)


async def test_what_plugins_have_sent_in_the_session_closes_nothing(durable: House, restart: Restart) -> None:
    durable.write("p", ECHO, intents=SHIP)
    durable.write("q", SEND, intents=["sender"])
    durable.open()
    live = await durable.begin(None, "sender", session_id="s")
    asked = await durable.send("上线", session_id="s")
    (durable.data("q") / "go").touch()
    assert code(await durable.end(live)) == "succeeded"
    assert is_open(durable)
    again = await restart(durable)
    await known(again)
    assert (await again.send("1", session_id="s"))["resumes"] == asked["request_id"]


async def test_an_answer_that_comes_before_all_is_restored_is_understood(
    house: House, restart: Restart
) -> None:
    house.journal = journal = SlowJournal()
    journal.let.set()
    house.write("p", ECHO, intents=SHIP)
    house.open()
    await house.pipeline.recover()
    asked = await house.send("上线", session_id="s")
    await house.send("上线", session_id="t")
    journal.let.clear()
    again = await restart(house)
    assert not is_open(again)
    first, second = await asyncio.gather(*(again.send("1", session_id="s") for _ in range(2)))
    assert {first["resumes"], second["resumes"]} == {asked["request_id"], None}
    assert code(await again.send("天气", session_id="t")) == "succeeded"
    journal.let.set()
    await known(again)
    assert not is_open(again)
    assert not is_open(again, "t")


async def test_nothing_is_looked_up_for_a_message_once_all_is_restored(
    house: House, restart: Restart
) -> None:
    house.journal = journal = SlowJournal()
    journal.let.set()
    house.write("p", ECHO, intents=SHIP)
    house.open()
    again = await restart(house)
    await known(again)
    journal.sessions.clear()
    assert code(await again.send("天气", session_id="s")) == "succeeded"
    assert journal.sessions == []


@pytest.mark.parametrize("newer", [True, False])
async def test_a_message_that_is_taken_up_again_asks_unless_something_newer_has_come(
    house: House, restart: Restart, *, newer: bool
) -> None:
    house.journal = journal = SlowJournal()
    journal.let.set()
    house.write("p", ECHO, intents=SHIP)
    house.open()
    journal.ends.clear()
    asks = await house.begin("上线", session_id="s")
    if newer:
        assert code(await house.send("天气", session_id="s")) == "succeeded"
    assert asks.written is None
    again = await restart(house)
    journal.ends.set()
    await known(again)
    found = await again.shelf.find(asks.record.message.request_id, owner="local:local")
    if isinstance(found, Live):
        await again.end(found)
    assert is_open(again) is not newer


async def test_only_what_has_not_expired_is_restored(tmp_path: Path, book: Logbook) -> None:
    journal = MemoryJournal()
    house = House(tmp_path, book)
    house.journal = journal
    house.write("p", ECHO, intents=SHIP)
    house.open()
    asked = await house.send("上线", session_id="s")
    await house.stop()
    expires_at = asked["envelope"]["data"]["expires_at"]
    assert await restored(journal, expires_at - 1, book) is not None
    assert await restored(journal, expires_at, book) is None
    assert await restored(journal, expires_at + 1e6, book) is None


async def restored(journal: MemoryJournal, now: float, book: Logbook) -> OpenQuestion | None:
    """Return the question that is restored if it is `now`."""
    questions = Questions(now=lambda: now)
    recall = Recall(journal, questions, log=book.logs.log, now=lambda: now)
    recall.start()
    await eventually(lambda: questions.is_settled(("x", "y")))
    await recall.stop()
    return questions.get("local:local", "s")
