"""A check of who may decide that goes wrong, in whatever way, lets nobody decide and nothing run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hermes.dispatch.confirmations import Check, Confirmations
from hermes.errors import Forbidden
from tests.support.bench import eventually
from tests.support.consent import ADMIN, ASKER, PAYLOAD, ask, runs, write_deploy
from tests.support.house import House, shown


def answering(answer: Any) -> Check:
    """Return a check that gives an answer, whatever it is."""

    async def check(*_: object, **__: object) -> Any:
        return answer

    return check


async def raises(*_: object, **__: object) -> bool:
    raise LookupError("there is no such group")


async def hangs(*_: object, **__: object) -> bool:
    await asyncio.Event().wait()
    return True


async def gives_itself_up(*_: object, **__: object) -> bool:
    async with asyncio.timeout(0):
        await asyncio.Event().wait()
    return True


def is_not_even_async(*_: object, **__: object) -> Any:
    return True


BAD: dict[str, Check] = {
    "raises": raises,
    "hangs": hangs,
    "times out": gives_itself_up,
    "is no coroutine": is_not_even_async,
} | {repr(answer): answering(answer) for answer in (None, False, "yes", 1, [True], object)}
LOGGED = {"raises", "hangs", "times out", "is no coroutine"}


@pytest.mark.parametrize("bad", BAD)
async def test_whatever_a_check_does_but_say_true_is_a_no(house: House, bad: str) -> None:
    write_deploy(house)
    house.open()
    live = await ask(house, request_id="r1")
    asked = shown(live)
    guarded = Confirmations(house.journal, log=house.book.log, check=BAD[bad], checked_within=0.02)
    for caller in (ASKER, ADMIN):
        for approve in (True, False):
            with pytest.raises(Forbidden):
                await guarded.decide(live, caller, approve=approve)
    assert house.host is not None
    target = house.host.find("deploy")
    assert target is not None
    assert not guarded.given(live, target)
    assert shown(live) == asked
    assert len(house.book.lines(event="confirmation_check_failed", request_id="r1")) == (
        4 if bad in LOGGED else 0
    )
    await house.pipeline.confirm(live, ASKER, approve=False)
    assert runs(house) == []


@pytest.mark.parametrize("bad", BAD)
async def test_a_word_given_beforehand_counts_for_nothing_if_it_cannot_be_checked(
    house: House, bad: str
) -> None:
    write_deploy(house)
    house.open()
    assert house.host is not None
    target = house.host.find("deploy")
    assert target is not None
    live = await house.begin(None, "deploy", payload=PAYLOAD, caller=ASKER)
    guarded = Confirmations(house.journal, log=house.book.log, check=BAD[bad], checked_within=0.02)
    await guarded.agree_beforehand(live, target, caller=ADMIN)
    assert not guarded.given(live, target)
    await house.reached(live, "PROGRESS")
    assert shown(live)["status"] == "awaiting_confirmation"
    assert runs(house) == []


async def test_who_goes_away_while_it_is_checked_decides_nothing(house: House) -> None:
    write_deploy(house)
    house.open()
    live = await ask(house)
    guarded = Confirmations(house.journal, log=house.book.log, check=hangs)
    deciding = asyncio.ensure_future(guarded.decide(live, ASKER, approve=True))
    await asyncio.sleep(0)
    deciding.cancel()
    await eventually(deciding.done)
    assert deciding.cancelled()
    assert shown(live)["confirmation"]["approved"] is None
