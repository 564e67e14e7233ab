"""A question is answered by the next message of its session, and by nothing else; what it was about then runs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hermes.auth.policy import Caller
from hermes.errors import Unavailable
from hermes.messages import Principal
from tests.support.bench import eventually
from tests.support.house import House, Shown, shown
from tests.support.journals import FragileJournal

ECHO = "async def handle(message, context):\n    return [message['intent'], message['payload']]\n"
REGION = {"type": "string", "enum": ["cn", "eu"]}
DEPLOY = {
    "name": "web.deploy",
    "description": "上线网站 / deploy the website",
    "keywords": {"网站": 0.9, "website": 0.9, "上线": 0.7, "bring out": 0.7},
    "parameters": {
        "type": "object",
        "properties": {"version": {"type": "string"}, "region": REGION},
        "required": ["version", "region"],
    },
    "slots": {"version": r"v(?P<version>\d[\d.]*)", "region": r"\b(?P<region>cn|eu)\b"},
    "writes": True,
    "confirm": False,
}
APP = {
    "name": "app.deploy",
    "description": "上线应用 / deploy the app",
    "keywords": {"应用": 0.9, "app": 0.9, "上线": 0.7, "bring out": 0.7},
    "parameters": {"type": "object", "properties": {"build": {"type": "string"}}},
    "writes": True,
    "confirm": False,
}
WEATHER = {"name": "weather", "keywords": {"天气": 0.9, "weather": 0.9}}
CI = Caller(Principal("key", "ci"), frozenset({"messages", "read"}))


@pytest.fixture
async def town(house: House) -> House:
    """A house with two tools that a sentence may mean, and a third that it does not."""
    house.write("p", ECHO, intents=[DEPLOY, APP, WEATHER])
    house.open()
    return house


def code(record: Shown) -> str:
    error = record["envelope"]["error"]
    return error["code"] if error else "succeeded"


async def ask(house: House, text: str = "上线 v2.1 到 cn", session: str = "s", **members: Any) -> Shown:
    """Send what is asked back about, and return its record."""
    record = await house.send(text, session_id=session, **members)
    assert code(record) == "clarification_needed", record
    return record


@pytest.mark.parametrize(
    ("answer", "intent"),
    [
        ("1", "app.deploy"),
        ("第二个", "web.deploy"),
        ("the second one please", "web.deploy"),
        ("app.deploy", "app.deploy"),
        ("上线网站 / deploy the website", "web.deploy"),
        ("网站", "web.deploy"),
        ("the website", "web.deploy"),
        ("那个应用吧", "app.deploy"),
    ],
)
async def test_an_answer_runs_the_first_text_and_payload_under_its_own_id(
    town: House, answer: str, intent: str
) -> None:
    asked = await ask(town, payload={"note": 7})
    live = await town.begin(answer, session_id="s", request_id="answer")
    record = await town.end(live)
    payload = {"text": "上线 v2.1 到 cn", "note": 7}
    if intent == "web.deploy":
        payload |= {"version": "2.1", "region": "cn"}
    assert code(record) == "succeeded"
    assert record["envelope"]["data"] == [intent, payload]
    assert (record["request_id"], record["resumes"]) == ("answer", asked["request_id"])
    decision = record["decision"]
    assert (decision["outcome"], decision["intent"], decision["confidence"]) == ("resumed", intent, 1.0)
    assert decision["candidates"] == asked["decision"]["candidates"]
    assert live.locale == "zh"


async def test_a_question_shows_its_options_as_a_chat_can_show_them(town: House) -> None:
    asked = await ask(town, "bring out the thing")
    assert asked["digest"] == (
        "Which one do you mean?\n\n1. 上线应用 / deploy the app\n2. 上线网站 / deploy the website\n\n"
        "Answer with its number or its name."
    )
    assert asked["envelope"]["data"]["expires_at"] > asked["finished_at"]


async def test_a_question_is_answered_once(town: House) -> None:
    asked = await ask(town)
    records = await asyncio.gather(*(town.send(text, session_id="s") for text in ("1", "2", "1", "2")))
    assert [record["resumes"] for record in records].count(asked["request_id"]) == 1
    assert sorted(code(record) for record in records) == ["no_match"] * 3 + ["succeeded"]


async def test_the_same_answer_sent_again_is_the_same_message(town: House) -> None:
    await ask(town)
    first = await town.end(await town.begin("1", session_id="s", request_id="a1"))
    again = await town.submit("1", session_id="s", request_id="a1")
    assert again.replayed
    await ask(town)
    again = await town.submit("1", session_id="s", request_id="a1")
    assert again.replayed
    assert town.pipeline.questions.get("local:local", "s") is not None
    assert code(first) == code(await town.send("2", session_id="s")) == "succeeded"


async def test_the_same_answer_at_the_same_time_is_one_message(town: House) -> None:
    await ask(town)
    receipts = await asyncio.gather(*(town.submit("1", session_id="s", request_id="a1") for _ in range(5)))
    assert [receipt.replayed for receipt in receipts].count(False) == 1
    assert {shown(receipt.message)["message"]["intent"] for receipt in receipts} == {"app.deploy"}


@pytest.mark.parametrize("text", ["今天天气怎么样", "讲个笑话", "/web.deploy v1 cn", "上线"])
async def test_another_message_is_a_request_of_its_own_and_closes_the_question(
    town: House, text: str
) -> None:
    await ask(town)
    record = await town.send(text, session_id="s")
    assert (record["resumes"], record["message"]["payload"]["text"]) == (
        None,
        text.removeprefix("/web.deploy "),
    )
    if text == "上线":  # it asks anew
        return
    assert code(await town.send("2", session_id="s")) == "no_match"


async def test_a_question_is_closed_by_what_came_before_it_was_asked(town: House) -> None:
    first, _ = await asyncio.gather(town.begin("上线", session_id="s"), town.begin("天气", session_id="s"))
    assert code(await town.end(first)) == "clarification_needed"
    assert code(await town.send("2", session_id="s")) == "no_match"


async def test_only_the_session_and_the_owner_that_were_asked_can_answer(town: House) -> None:
    asked = await ask(town)
    assert code(await town.send("2")) == "no_match"
    assert code(await town.send("2", session_id="other")) == "no_match"
    assert code(await town.send("2", session_id="s", caller=CI)) == "no_match"
    assert (await town.send("1", session_id="s"))["resumes"] == asked["request_id"]


async def test_what_nobody_stands_behind_is_no_answer(town: House) -> None:
    await ask(town)
    record = await town.send("1", session_id="s", source="cron")
    assert (code(record), record["resumes"]) == ("no_match", None)
    await ask(town, source="cron")
    assert code(await town.send("1", session_id="s")) == "no_match"


async def test_a_question_to_one_person_is_not_answered_by_another(town: House) -> None:
    anna, ben = (Caller(Principal("webhook", "chat", person)) for person in ("chat:anna", "chat:ben"))
    await ask(town, caller=anna, source="im")
    assert code(await town.send("1", session_id="s", caller=ben, source="im")) == "no_match"


@pytest.mark.parametrize(
    ("text", "digest"),
    [
        ("算了", "好的，没有执行。"),
        ("都不是", "好的，没有执行。"),
        ("never mind", "All right, nothing was done."),
    ],
)
async def test_a_refusal_closes_the_question_and_runs_nothing(town: House, text: str, digest: str) -> None:
    asked = await ask(town)
    record = await town.send(text, session_id="s")
    assert (record["status"], record["resumes"]) == ("succeeded", asked["request_id"])
    assert (record["digest"], record["plugin"], record["attempts"]) == (digest, None, 0)
    assert record["decision"] == {
        "outcome": "resumed",
        "intent": "",
        "confidence": 1.0,
        "candidates": [],
        "warning": None,
    }
    assert code(await town.send("1", session_id="s")) == "no_match"


async def test_a_number_that_no_option_has_is_asked_about_again(town: House) -> None:
    asked = await ask(town)
    again = await town.send("5", session_id="s")
    assert (code(again), again["resumes"]) == ("clarification_needed", asked["request_id"])
    assert again["envelope"]["data"]["options"] == asked["envelope"]["data"]["options"]
    record = await town.send("2", session_id="s")
    assert (record["resumes"], record["envelope"]["data"][0]) == (again["request_id"], "web.deploy")


async def test_missing_parameters_are_asked_for_until_they_are_there(town: House) -> None:
    asked = await ask(town, "上线")
    step = await town.send("网站", session_id="s")
    assert (code(step), step["envelope"]["data"]["missing"]) == (
        "clarification_needed",
        ["version", "region"],
    )
    step = await town.send("version=2.1，region=mars", session_id="s")
    assert (code(step), step["envelope"]["data"]["missing"]) == ("clarification_needed", ["region"])
    assert "mars" in step["envelope"]["data"]["question"]
    step = await town.send("moon", session_id="s")
    assert (code(step), step["envelope"]["data"]["missing"]) == ("clarification_needed", ["region"])
    record = await town.send("CN", session_id="s")
    assert record["resumes"] == step["request_id"] != asked["request_id"]
    assert record["envelope"]["data"] == ["web.deploy", {"text": "上线", "version": "2.1", "region": "cn"}]


async def test_a_missing_parameter_is_given_as_payload_too(town: House) -> None:
    asked = await ask(town, "网站")
    assert asked["envelope"]["data"]["missing"] == ["version", "region"]
    record = await town.send("region: eu", session_id="s", payload={"version": "3"})
    assert record["envelope"]["data"][1] == {"text": "网站", "version": "3", "region": "eu"}


async def test_a_request_for_another_tool_is_no_parameter(town: House) -> None:
    await ask(town, "网站 v2")
    record = await town.send("cn 的天气", session_id="s")
    assert (record["message"]["intent"], record["resumes"]) == ("weather", None)


async def test_what_runs_after_an_answer_can_be_tried_again(house: House) -> None:
    house.write("p", "async def handle(message, context):\n    raise ValueError(1)\n", intents=[DEPLOY, APP])
    house.open()
    asked = await ask(house)
    failed = await house.send("1", session_id="s")
    assert code(failed) == "plugin_error"
    again = await house.send(retry_of=failed["request_id"])
    assert again["message"]["payload"] == failed["message"]["payload"]
    assert again["decision"] == failed["decision"]
    assert (again["resumes"], again["session_id"]) == (asked["request_id"], "s")


async def test_a_question_that_is_tried_again_is_asked_again(town: House) -> None:
    asked = await ask(town)
    unclear = await town.send("5", session_id="s")
    for one in (asked, unclear):
        again = await town.send(retry_of=one["request_id"])
        assert (code(again), again["decision"]["outcome"], again["resumes"]) == (
            "clarification_needed",
            "clarify",
            None,
        )
        record = await town.send("1", session_id="s")
        assert (code(record), record["resumes"]) == ("succeeded", again["request_id"])


async def test_what_an_answer_runs_is_confirmed_like_anything_else(house: House) -> None:
    house.write("p", ECHO, intents=[{**APP, "confirm": True}, DEPLOY])
    house.open()
    await ask(house)
    live = await house.begin("1", session_id="s")
    await house.reached(live, "PROGRESS")
    assert live.status == "awaiting_confirmation"
    await ask(house)
    record = await house.send("1", session_id="s", approve=True)
    assert (code(record), record["confirmation"]["approved"]) == ("succeeded", True)


async def test_an_answer_that_cannot_be_kept_leaves_the_question_open(
    fragile: FragileJournal, house: House
) -> None:
    house.write("p", ECHO, intents=[DEPLOY, APP])
    house.open()
    await ask(house)
    fragile.slow = True
    answer = asyncio.ensure_future(house.send("1", session_id="s"))
    await eventually(lambda: house.pipeline.questions.get("local:local", "s") is None)
    fragile.away, fragile.slow = True, False
    with pytest.raises(Unavailable):
        await answer
    with pytest.raises(Unavailable):  # the question cannot be read
        await house.send("1", session_id="s")
    fragile.away = False
    assert code(await house.send("1", session_id="s")) == "succeeded"
