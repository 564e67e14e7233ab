"""Messages that wait for a plugin while its files change are run by what serves when their turn comes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.support.bench import HOLD, eventually
from tests.support.house import House

ANSWER = "async def handle(message, context):\n    return 'new'\n"


async def busy(house: House) -> Path:
    """Open a house whose plugin `p` has its only place taken by the message `r1`; return the plugin's folder."""
    folder = house.write("p", HOLD, concurrency=1)
    house.open()
    first = await house.begin(intent="p", request_id="r1")
    await house.reached(first, "TOOL_STARTED")
    return folder


async def test_what_waits_is_run_by_the_new_version_and_its_record_says_so(house: House) -> None:
    folder = await busy(house)
    waiting = await house.begin(intent="p", request_id="r2")
    await eventually(lambda: house.plugin("p")["queue_depth"] == 1)
    old = house.plugin("p")["hash"]
    (folder / "plugin.py").write_text(ANSWER)
    await house.look()
    record = await house.end(waiting)
    assert record["envelope"]["data"] == "new"
    assert record["plugin"]["hash"] == house.plugin("p")["hash"] != old
    assert (record["attempts"], house.types(waiting).count("TOOL_STARTED")) == (1, 1)
    (house.data("p") / "go").touch()


async def test_what_waits_is_checked_by_what_the_new_version_asks_for(house: House) -> None:
    folder = await busy(house)
    waiting = await house.begin(intent="p", request_id="r2")
    await eventually(lambda: house.plugin("p")["queue_depth"] == 1)
    intent = {"name": "p", "parameters": {"type": "object", "required": ["city"]}}
    (folder / "manifest.json").write_text(json.dumps({"name": "p", "intents": [intent]}))
    await house.look()
    record = await house.end(waiting)
    assert record["envelope"]["error"]["code"] == "invalid_payload"
    assert "city" in record["envelope"]["error"]["message"]
    (house.data("p") / "go").touch()


async def test_what_waits_for_a_plugin_that_is_taken_away_ends_with_nobody_to_serve_it(house: House) -> None:
    folder = await busy(house)
    waiting = await house.begin(intent="p", request_id="r2")
    await eventually(lambda: house.plugin("p")["queue_depth"] == 1)
    shutil.rmtree(folder)
    await house.look()
    record = await house.end(waiting)
    assert record["envelope"]["error"]["code"] == "no_match"
    (house.data("p") / "go").touch()


async def test_what_waits_for_a_plugin_that_is_disabled_is_told_so_in_its_language(house: House) -> None:
    await busy(house)
    waiting = [
        await house.begin(intent="p", payload={"text": text}, request_id=name)
        for name, text in (("r2", "看一下"), ("r3", "have a look"))
    ]
    await eventually(lambda: house.plugin("p")["queue_depth"] == 2)
    assert house.host is not None
    await house.host.disable("p")
    errors = [(await house.end(one))["envelope"]["error"] for one in waiting]
    assert [error["code"] for error in errors] == ["plugin_unavailable"] * 2
    assert [error["message"] for error in errors] == [
        "该工具已停用，管理员可以重新启用它。",
        "The tool is disabled; an admin can enable it again.",
    ]
    (house.data("p") / "go").touch()
