"""Calls that need consent wait for who may give it, and every decision counts once."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from hermes.dispatch.shelf import has_ended
from hermes.errors import AlreadyDecided, Conflict, Forbidden, NotFound
from tests.support.consent import ADMIN, ASKER, OTHER, PAYLOAD, ask, keys, runs, write_deploy
from tests.support.house import House, shown
from tests.support.journals import FragileJournal

CI = {"kind": "key", "id": "ci", "person": None}
QUESTIONS = {
    "生产": "deploy 需要确认后才会执行，要执行吗？",
    "prod": "deploy needs a confirmation before it runs. Run it?",
}


@pytest.mark.parametrize("env", QUESTIONS)
async def test_a_call_that_needs_consent_waits_and_shows_what_would_run(durable: House, env: str) -> None:
    write_deploy(durable, confirm={"by": ["slack:U7"], "other_than_asker": True, "expires": 60})
    durable.open()
    live = await ask(durable, payload={"env": env})
    record = shown(live)
    confirmation = {
        "intent": "deploy",
        "plugin": "deploy",
        "payload": {"env": env},
        "expires_at": record["confirmation"]["expires_at"],
        "by": ["slack:U7"],
        "other_than_asker": True,
        "approved": None,
        "decided_by": None,
        "decided_at": None,
    }
    assert (record["status"], record["confirmation"]) == ("awaiting_confirmation", confirmation)
    assert record["principal"] == CI
    received, question = durable.story(live)
    assert (
        question.items()
        >= {
            "type": "PROGRESS",
            "stage": "awaiting_confirmation",
            "text": QUESTIONS[env],
            "confirmation": confirmation,
        }.items()
    )
    assert confirmation["expires_at"] == pytest.approx(question["timestamp"] + 60, abs=20)
    (entry,) = await durable.journal.replay(after=0, limit=9)
    assert (entry.status, json.loads(entry.record)) == ("awaiting_confirmation", record)
    assert json.loads(entry.events) == [received, question]
    assert runs(durable) == []


async def test_who_waits_for_the_end_hears_at_once_that_a_decision_is_needed(house: House) -> None:
    write_deploy(house)
    house.open()
    live = await house.begin(None, "deploy", caller=ASKER)
    await house.pipeline.wait(live, 20)
    assert shown(live)["status"] == "awaiting_confirmation"
    await house.pipeline.wait(live, 20)
    await house.pipeline.confirm(live, ASKER, approve=True)
    await house.pipeline.wait(live, 20)
    assert has_ended(live)


async def test_what_is_approved_runs_once_and_says_who_asked_and_who_approved(durable: House) -> None:
    write_deploy(durable, confirm={"other_than_asker": True})
    durable.open()
    live = await ask(durable, request_id="r1")
    await durable.pipeline.confirm(live, OTHER, approve=True)
    record = await durable.end(live)
    assert (record["status"], record["envelope"]["data"]) == ("succeeded", PAYLOAD)
    assert record["principal"] == CI
    decided = record["confirmation"]
    assert decided["approved"] is True
    assert decided["decided_by"] == {"kind": "key", "id": "ops", "person": "slack:U7"}
    assert record["received_at"] < decided["decided_at"] <= record["finished_at"]
    assert durable.types(live) == ["TASK_RECEIVED", "PROGRESS", "TOOL_STARTED", "TOOL_SUCCEEDED"]
    assert [event["seq"] for event in durable.story(live)] == [1, 2, 3, 4]
    assert (runs(durable), keys(durable)) == (["r1"], ["r1"])


@pytest.mark.parametrize(
    ("env", "sentence"), [("生产", "已拒绝，没有执行。"), ("prod", "It was declined and has not run.")]
)
async def test_what_is_declined_has_ended_when_the_decision_is_answered(
    house: House, env: str, sentence: str
) -> None:
    write_deploy(house)
    house.open()
    live = await ask(house, payload={"env": env})
    await house.pipeline.confirm(live, ADMIN, approve=False)
    assert has_ended(live)
    record = shown(live)
    assert record["status"] == "failed"
    assert record["envelope"]["error"] == {"code": "declined", "message": sentence, "retryable": False}
    assert record["confirmation"]["decided_by"] == {"kind": "key", "id": "root", "person": None}
    assert (record["attempts"], runs(house)) == (0, [])
    assert house.types(live) == ["TASK_RECEIVED", "PROGRESS", "TOOL_FAILED"]


@pytest.mark.parametrize("first", [True, False])
async def test_a_second_decision_is_refused_however_late(house: House, *, first: bool) -> None:
    write_deploy(house)
    house.open()
    live = await ask(house)
    await house.pipeline.confirm(live, ASKER, approve=first)
    decided = shown(live)["confirmation"]
    await house.end(live)
    for message in (live, await house.shelf.find(live.record.message.request_id, owner=None)):
        for second in (True, False):
            with pytest.raises(AlreadyDecided, match="approved already" if first else "declined already"):
                await house.pipeline.confirm(message, ASKER, approve=second)
        assert shown(message)["confirmation"] == decided
    assert len(runs(house)) == int(first)


async def test_invariant_of_many_decisions_at_once_exactly_one_counts(
    house: House, fragile: FragileJournal
) -> None:
    write_deploy(house)
    house.open()
    live = await ask(house)
    fragile.slow = True
    votes = [asyncio.ensure_future(house.pipeline.confirm(live, ASKER, approve=n % 3 > 0)) for n in range(20)]
    await asyncio.sleep(0)
    fragile.slow = False
    answers = await asyncio.gather(*votes, return_exceptions=True)
    assert [type(answer) for answer in answers].count(AlreadyDecided) == 19
    (winner,) = [n for n, answer in enumerate(answers) if answer is None]
    record = await house.end(live)
    assert record["confirmation"]["approved"] is (winner % 3 > 0)
    assert len(runs(house)) == int(winner % 3 > 0)


async def test_the_wrong_person_is_refused_and_leaves_it_open(house: House) -> None:
    write_deploy(house)
    house.open()
    live = await ask(house, request_id="r1")
    for approve in (True, False):
        with pytest.raises(Forbidden):
            await house.pipeline.confirm(live, OTHER, approve=approve)
    assert shown(live)["confirmation"]["approved"] is None
    found = await house.shelf.find_to_decide("r1", owner=ASKER.sees)
    await house.pipeline.confirm(found, ASKER, approve=True)
    assert (await house.end(live))["status"] == "succeeded"
    with pytest.raises(Forbidden):
        await house.pipeline.confirm(live, OTHER, approve=True)


async def test_what_another_asked_is_found_to_decide_and_nothing_else_of_theirs(house: House) -> None:
    write_deploy(house)
    house.open()
    live = await ask(house, request_id="r1")
    await house.send(None, "nobody", caller=ASKER, request_id="r2")
    assert await house.shelf.find_to_decide("r1", owner=OTHER.sees) is live
    for request_id in ("r2", "r3"):
        with pytest.raises(NotFound):
            await house.shelf.find_to_decide(request_id, owner=OTHER.sees)


@pytest.mark.parametrize("intent", ["nobody", "free"])
async def test_what_needs_no_consent_cannot_be_decided(house: House, intent: str) -> None:
    write_deploy(house)
    house.write("free", "async def handle(message, context):\n    return 1\n")
    house.open()
    live = await house.begin(None, intent, caller=ASKER)
    await house.end(live)
    with pytest.raises(Conflict) as refused:
        await house.pipeline.confirm(live, ASKER, approve=True)
    assert (refused.type, shown(live)["confirmation"]) == (Conflict, None)


async def test_a_call_that_cannot_run_is_not_asked_about(house: House) -> None:
    write_deploy(house, parameters={"type": "object", "properties": {"env": {"enum": ["test"]}}})
    house.open()
    record = await house.send(None, "deploy", payload=PAYLOAD, caller=ASKER)
    assert (record["envelope"]["error"]["code"], record["confirmation"]) == ("invalid_payload", None)


async def test_who_sends_may_agree_beforehand(house: House) -> None:
    write_deploy(house)
    house.open()
    live = await house.begin(None, "deploy", payload=PAYLOAD, caller=ASKER, approve=True)
    record = await house.end(live)
    assert (record["status"], house.types(live)[1:]) == ("succeeded", ["TOOL_STARTED", "TOOL_SUCCEEDED"])
    decided = record["confirmation"]
    assert (decided["approved"], decided["decided_by"], decided["expires_at"]) == (True, CI, None)
    with pytest.raises(AlreadyDecided):
        await house.pipeline.confirm(live, ASKER, approve=False)
    record = await house.send(None, "nobody", caller=ASKER, approve=True)
    assert record["envelope"]["error"]["code"] == "no_match"


@pytest.mark.parametrize("confirm", [{"other_than_asker": True}, {"by": ["slack:U7"]}, {"by": ["release"]}])
async def test_who_may_not_decide_cannot_agree_beforehand(house: House, confirm: dict[str, Any]) -> None:
    write_deploy(house, confirm=confirm)
    house.open()
    live = await ask(house, approve=True)
    assert (shown(live)["status"], shown(live)["confirmation"]["approved"]) == ("awaiting_confirmation", None)
    with pytest.raises(Forbidden):
        await house.pipeline.confirm(live, ASKER, approve=True)
    assert runs(house) == []


async def test_a_house_full_of_questions_takes_each_decision_for_what_it_is(house: House) -> None:
    write_deploy(house)
    house.open()
    lives = [await ask(house, payload={"n": number}) for number in range(12)]
    for live in lives[::3]:
        await house.pipeline.confirm(live, ASKER, approve=False)
    await asyncio.gather(*(house.pipeline.confirm(one, ASKER, approve=True) for one in lives[1::3]))
    for live in lives[1::3]:
        assert (await house.end(live))["envelope"]["data"] == live.record.message.payload
    assert [shown(live)["status"] for live in lives[2::3]] == ["awaiting_confirmation"] * 4
    assert sorted(runs(house)) == sorted(live.record.message.request_id for live in lives[1::3])
