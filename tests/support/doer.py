"""A house with a plugin that does one thing to the world within `once`; how it goes each time is the test's to say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hermes.dispatch.live import Live
from hermes.messages import new_id
from tests.support.bench import eventually
from tests.support.house import House, Shown
from tests.support.logbook import Logbook

DOER = """
import asyncio, json, os, signal, time
from pathlib import Path
from hermes.sdk import NotDone
from hermes.sdk.requests import Refused

async def handle(message, context):
    data, payload = Path(context["data_dir"]), message["payload"]
    day = json.loads((data / "day").read_text())

    async def make():
        with (data / "effects").open("a") as effects:
            effects.write(message["request_id"] + "\\n")
        match day.get("make"):
            case "raise":
                raise ValueError("工单系统拒绝了")
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)
            case "block":
                time.sleep(day["seconds"])
            case "sleep":
                await asyncio.sleep(600)
            case "wait":
                while not (data / "go").exists():
                    await asyncio.sleep(0.005)
            case "ignore cancel":
                try:
                    await asyncio.sleep(600)
                except asyncio.CancelledError:
                    pass
            case "deep":
                deep = 0
                for _ in range(300):
                    deep = [deep]
                return deep
        return {"ticket": "OPS-7", "n": len((data / "effects").read_text().split())}

    async def lookup():
        if day["lookup"] == "absent":
            raise NotDone
        return {"ticket": "found"}

    async def say(method, **params):
        try:
            answer = await context["once"]._requests.ask(method, {"call": context["once"]._call, **params})
        except Refused as refused:
            return [refused.code, str(refused)]
        return {"state": answer["state"]} if answer else {}

    if said := day.get("say") or payload.get("say"):
        answers = []
        for at in range(0, len(said), 200):
            batch = said[at : at + 200]
            answers += await asyncio.gather(*(say(method, **params) for method, params in batch))
        return answers
    results = []
    for key in payload.get("keys", ["issue"]):
        while (data / f"hold {key}").exists():
            await asyncio.sleep(0.005)
        more = {"lookup": lookup} if "lookup" in day else {}
        results.append(await context["once"](key, make, **more))
    if day.get("then") == "fail":
        return {"error": "it failed after that"}
    return results[0] if len(results) == 1 else results
"""
"""`day` in the data folder says how it goes: `make`, `seconds`, `lookup`, `then`. `say` there or in a payload asks the
host raw, all at once, or 200 at a time."""


class Doer:
    """The plugin `p` of a house and what it did. `day` changes how it goes from now on, without a word all goes well."""

    def __init__(self, house: House, name: str = "p", **manifest: Any) -> None:
        self.house = house
        self.name = name
        manifest = {"intents": [{"name": name, "writes": True, "confirm": False}]} | manifest
        house.write(name, DOER, **manifest)
        self.data.mkdir(parents=True)
        self.day()

    @property
    def data(self) -> Path:
        return self.house.data(self.name)

    def day(self, **day: Any) -> None:
        (self.data / "new day").write_text(json.dumps(day))
        (self.data / "new day").rename(self.data / "day")

    @property
    def effects(self) -> list[str]:
        """The request_ids of the messages that changed the world, once for each time."""
        file = self.data / "effects"
        return file.read_text().split() if file.exists() else []

    async def affected(self, count: int = 1) -> None:
        """Wait until the world has changed so many times."""
        await eventually(lambda: len(self.effects) >= count)

    async def send(self, **members: Any) -> Shown:
        """Send a message, or with `retry_of` one again, and return its record."""
        return await self.house.end(await self.begin(**members))

    async def begin(self, **members: Any) -> Live:
        intent = None if "retry_of" in members else self.name
        return await self.house.begin(None, intent, **{"request_id": new_id()} | members)

    async def stored(self) -> list[dict[str, Any]]:
        """Return what the house's store holds of keys."""
        names = [name async for name in self.house.store.scan(f"once/{self.name}/")]
        return [json.loads(await self.house.store.get(name) or b"null") for name in names]

    async def say(self, *said: tuple[str, dict[str, Any]]) -> list[Any]:
        """Ask the host raw, all at once within one call, and return its answers, of a refusal `[code, sentence]`."""
        record = await self.send(payload={"say": said})
        answers: list[Any] = record["envelope"]["data"]
        return answers


def error_of(record: Shown) -> tuple[str, str]:
    """Return code and sentence of a record that has failed."""
    error = record["envelope"]["error"]
    return error["code"], error["message"]


async def open_again(house: House, book: Logbook) -> House:
    """Leave a house, and open another on its journal, stores and folders; the earlier backlog is worked off."""
    await house.stop()
    again = House(house.home, book)
    again.journal, again.store, again.spare = house.journal, house.store, house.spare
    again.open()
    await again.pipeline.recover()
    await eventually(lambda: not again.pipeline.backlog.waiting and not len(again.pipeline.live))
    return again
