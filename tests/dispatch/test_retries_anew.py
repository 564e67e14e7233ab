"""What a retry goes through anew: its way to a tool, a person's consent, and what has been forgotten meanwhile."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from hermes.dispatch.shelf import has_ended
from hermes.errors import Conflict, NotFound
from hermes.journal.base import Entry
from tests.support.bench import HOLD
from tests.support.consent import ASKER, keys, runs, write_deploy
from tests.support.house import House, shown
from tests.support.retrying import FALL, HOLD_AND_FAIL, failed, retry, used

Restart = Callable[[House], Awaitable[House]]


async def test_a_text_that_no_tool_was_for_is_routed_anew(house: House, restart: Restart) -> None:
    house.write("p", HOLD, keywords={"磁盘": 0.9})
    house.open()
    record = await house.send("清理日志", request_id="r1", payload={"n": 1})
    assert record["envelope"]["error"]["code"] == "no_match"
    record = await house.end(await retry(house, "r2"))
    assert record["envelope"]["error"]["code"] == "no_match"
    await house.stop()
    house.write("tidy", HOLD, keywords={"清理": 0.9})
    again = await restart(house)
    live = await retry(again, "r3", of="r2")
    await again.reached(live, "TOOL_STARTED")
    record = shown(live)
    assert (record["decision"]["outcome"], record["message"]["intent"]) == ("dispatch", "tidy")
    assert record["message"]["payload"] == {"n": 1, "text": "清理日志"}


async def test_what_went_to_a_tool_goes_there_again(house: House, restart: Restart) -> None:
    house.write("p", HOLD_AND_FAIL, keywords={"磁盘": 0.9})
    house.open()
    house.data("p").mkdir(parents=True, exist_ok=True)
    (house.data("p") / "go").touch()
    old = await house.send("磁盘满了", request_id="r1")
    assert old["decision"]["outcome"] == "dispatch"
    await house.stop()
    house.write("q", HOLD, keywords={"磁盘": 1.0, "满了": 1.0}, priority=5)
    again = await restart(house)
    new = await again.end(await retry(again))
    assert (new["decision"], new["plugin"]["name"]) == (old["decision"], "p")
    await again.stop()
    shutil.rmtree(again.home / "plugins" / "p")
    gone = await restart(again)
    new = await gone.end(await retry(gone))
    assert new["envelope"]["error"]["code"] == "no_match"


async def test_a_retry_needs_a_consent_of_its_own(house: House) -> None:
    write_deploy(house)
    house.open()
    live = await house.begin(None, "deploy", caller=ASKER, request_id="r1")
    await house.reached(live, "PROGRESS")
    await house.pipeline.confirm(live, ASKER, approve=False)
    second = await retry(house, "r2", caller=ASKER)
    await house.reached(second, "PROGRESS")
    assert shown(second)["status"] == "awaiting_confirmation"
    with pytest.raises(Conflict, match="under way"):
        await retry(house, caller=ASKER)
    await house.pipeline.confirm(second, ASKER, approve=False)
    third = await house.end(await retry(house, "r3", of="r2", caller=ASKER, approve=True))
    assert (third["status"], third["confirmation"]["approved"]) == ("succeeded", True)
    assert (runs(house), keys(house)) == (["r3"], ["r1"])


async def test_the_origin_may_have_been_forgotten(house: House) -> None:
    house.write("p", FALL)
    house.open()
    await failed(house)
    second = await house.end(await retry(house, "r2"))
    await house.journal.finish(replace(await kept(house, "r2"), received_at=2e9))
    assert (await house.journal.trim(received_before=1.5e9, after=0, limit=10)).removed == 1
    with pytest.raises(NotFound):
        await retry(house)
    third = await retry(house, "r3", of="r2")
    await house.end(third)
    assert has_ended(third)
    assert (second["retry_of"], used(house)) == ("r1", ["r1"] * 3)


async def kept(house: House, request_id: str) -> Entry:
    entry = await house.journal.find(request_id, owner=None)
    assert entry is not None
    return entry
