"""Which texts are built-in words, and that a word is answered wherever it comes from but from a plugin."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hermes.auth.policy import may_use
from hermes.catalog import known
from hermes.dispatch.live import Live
from hermes.dispatch.questions import Questions
from hermes.dispatch.under_way import Task
from hermes.dispatch.vocabulary import Vocabulary
from hermes.dispatch.words.base import Surroundings
from hermes.errors import RateLimited
from hermes.messages import Principal
from tests.support.house import ME, SETTINGS, House

SEND = """
async def handle(message, context):
    return await context["send"](message["payload"]["intent"], {"text": "/help"})
"""


class Nothing:
    """Surroundings in which nothing is under way and nothing is asked."""

    def __init__(self, house: House) -> None:
        self.around = Surroundings(
            host=house.load(),
            under_way=self.under_way,
            stop=self.stop,
            questions=Questions,
            forget=self.forget,
            may_use=may_use,
            words=tuple,
        )

    async def under_way(self, _live: Live) -> list[Task]:
        return []

    async def stop(self, _task: Task) -> bool:
        return False

    async def forget(self, _owner: str, _session_id: str) -> None:
        pass


@pytest.fixture
async def words(house: House) -> Vocabulary:
    """The words beside one plugin."""
    house.write("p", SEND)
    return Vocabulary(Nothing(house).around)


def test_every_word_of_the_family_is_there(words: Vocabulary) -> None:
    assert (
        [word.name for word in words.words]
        == list(known("dispatch.words"))
        == ["cancel", "help", "reset", "status"]
    )


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("/help", "/help"),
        ("\n **/Help**. ", "/help"),
        ("\ufeff／ｈｅｌｐ\u200b？", "/help"),
        ("🙏/help🙏", "/help"),
        ("“帮助”", "/help"),
        ("【幫助】", "/help"),
        ("/help p", "/help"),
        ("/help 部署 到 生产", "/help"),
        ("/幫助 p", "/help"),
        ("状态……", "/status"),
        ("/狀態", "/status"),
        ("/cancel\t", "/cancel"),
        ("取消！！", "/cancel"),
        ("重來", "/reset"),
        ("/reset;", "/reset"),
    ],
)
def test_a_text_that_is_a_word_and_nothing_else_is_one(words: Vocabulary, text: str, intent: str) -> None:
    assert words.intent_of(text) == intent
    assert words.includes(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "/",
        "help",
        "cancel",
        "//help",
        "/ help",
        "/helpful",
        "/help/x",
        "./help",
        "/status all",
        "/cancel everything",
        "帮助 p",
        "帮助我",
        "取消订单",
        "不要取消",
        "/unknown",
        "/help " + "x" * 1000,
        "\ud800/help x\ud800" * 100,
        "/" * 100_000,
    ],
)
def test_any_other_text_is_none(words: Vocabulary, text: str) -> None:
    assert words.intent_of(text) is None
    assert not words.includes(text)


async def test_what_a_plugin_sends_is_no_word(house: House) -> None:
    house.write("p", SEND)
    house.open()
    for intent in ("/help", "/cancel"):
        envelope = (await house.send(None, "p", payload={"intent": intent}))["envelope"]
        assert envelope["error"]["code"] == "no_match"


async def test_words_are_taken_in_when_too_much_is_under_way(house: House) -> None:
    house.write(
        "slow", "import asyncio\n\nasync def handle(message, context):\n    await asyncio.sleep(600)\n"
    )
    house.open(replace(SETTINGS, pending=1))
    running = await house.begin(None, "slow", session_id="s")
    await house.reached(running, "TOOL_STARTED")
    with pytest.raises(RateLimited):
        await house.begin("天气怎么样")
    assert "slow" in (await house.send("/status", session_id="s"))["digest"]
    record = await house.send("/cancel", session_id="s")
    assert record["envelope"]["data"]["cancelled"] == [running.record.message.request_id]
    assert (await house.end(running))["envelope"]["error"]["code"] == "cancelled"


async def test_people_behind_one_owner_do_not_see_or_stop_what_others_have_under_way(house: House) -> None:
    house.write(
        "slow", "import asyncio\n\nasync def handle(message, context):\n    await asyncio.sleep(600)\n"
    )
    house.open()
    ada, bob = (
        replace(ME, principal=Principal("webhook", "chat", person)) for person in ("slack:A", "slack:B")
    )
    running = await house.begin(None, "slow", session_id="s", caller=ada)
    await house.reached(running, "TOOL_STARTED")
    for word in ("/status", "/cancel"):
        record = await house.send(word, session_id="s", caller=bob)
        assert running.record.message.request_id not in str(record["envelope"]["data"])
    assert (await house.send("/status", session_id="s", caller=ada))["envelope"]["data"]["under_way"]
    await house.send("/cancel", session_id="s", caller=ada)
    assert (await house.end(running))["envelope"]["error"]["code"] == "cancelled"


async def test_a_cancelled_write_is_told_that_it_may_have_taken_effect(house: House) -> None:
    house.write(
        "slow",
        "import asyncio\n\nasync def handle(message, context):\n    await asyncio.sleep(600)\n",
        writes=True,
        confirm=False,
    )
    house.open()
    running = await house.begin(None, "slow", session_id="s", payload={"text": "写"})
    await house.reached(running, "TOOL_STARTED")
    assert "其中会改动数据的可能已经生效。" in (await house.send("取消", session_id="s"))["digest"]
    await house.end(running)


async def test_help_stays_short_however_many_tools_there_are(house: House) -> None:
    intents: list[dict[str, Any]] = [
        {
            "name": f"tool.number-{number}",
            "description": "一个很有用的工具 " * 50,
            "examples": [f"做第 {number} 件事 " * 30, f"do thing {number}"],
        }
        for number in range(1000)
    ]
    intents[7]["parameters"] = {"properties": {f"p{n}": {"enum": list(range(100))} for n in range(100)}}
    house.write("p", SEND, intents=intents)
    house.open()
    for text in ("/help", "帮助", "/help p", "/help tool.number-7", "/help tool"):
        record = await house.send(text)
        assert record["status"] == "succeeded"
        assert len(record["digest"]) <= 4000
        assert len(str(record["envelope"]["data"])) < 4000
    assert (await house.send("/help"))["envelope"]["data"]["count"] == 1000


async def test_without_any_tool_help_says_so(house: House) -> None:
    house.open()
    assert (await house.send("/help"))["digest"].startswith("There are no tools now.")
