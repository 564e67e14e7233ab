"""A house with a plugin that sends what it is told to, and tells what it was answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hermes.dispatch.live import Live
from tests.support.bench import eventually
from tests.support.house import House, Shown, shown

SENDER = """
import asyncio, json, os, signal
from pathlib import Path
from hermes.sdk.requests import Refused

async def handle(message, context):
    data, payload = Path(context["data_dir"]), message["payload"]
    day = json.loads((data / "day").read_text()) if (data / "day").exists() else {}
    payload = payload | day

    async def fall():
        while not (data / "fall").exists():
            await asyncio.sleep(0.005)
        (data / "fall").unlink(missing_ok=True)
        os.kill(os.getpid(), signal.SIGKILL)

    async def send(intent, given):
        try:
            return await context["send"](intent, given)
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    async def say(params):
        try:
            return await context["send"]._requests.ask("send", {"call": context["send"]._call, **params})
        except Refused as refused:
            return [refused.code, str(refused)]

    falling = asyncio.create_task(fall())
    if "say" in payload:
        return [await say(params) for params in payload["say"]]
    sends = [send(*one) for one in payload.get("send", [])]
    if payload.get("leave"):
        context["tasks"] = [asyncio.create_task(one) for one in sends]
        await asyncio.sleep(0)
        answers = "left"
    else:
        answers = await asyncio.gather(*sends) if payload.get("at once") else [await one for one in sends]
    if payload.get("then") == "fail":
        return {"error": "it failed after that"}
    return answers
"""
"""`send` lists intents with their payloads; `at once`, `then` and `leave` say how, and `say` asks the host raw.

What the file `day` in its data folder holds counts before the payload. It falls when a file `fall` is there.
"""


class Sender:
    """The plugin `s` of a house, with an intent of the same name."""

    def __init__(self, house: House, name: str = "s", **manifest: Any) -> None:
        self.house = house
        self.name = name
        house.write(name, SENDER, **manifest)
        self.data.mkdir(parents=True)

    @property
    def data(self) -> Path:
        return self.house.data(self.name)

    def day(self, **day: Any) -> None:
        """Say how it goes from now on, whatever the payload says."""
        (self.data / "new day").write_text(json.dumps(day))
        (self.data / "new day").rename(self.data / "day")

    async def begin(
        self, *sends: tuple[str, Any], payload: dict[str, Any] | None = None, **members: Any
    ) -> Live:
        """Begin a message that sends these, one after the other."""
        given = {"send": sends} | (payload or {})
        return await self.house.begin(None, self.name, **{"request_id": "r1", "payload": given} | members)

    async def send(
        self, *sends: tuple[str, Any], payload: dict[str, Any] | None = None, **members: Any
    ) -> Any:
        """Have these sent and return what the plugin was answered."""
        return (await self.house.end(await self.begin(*sends, payload=payload, **members)))["envelope"][
            "data"
        ]

    async def fall(self) -> None:
        """Let its worker die, and wait until it has."""
        (self.data / "fall").touch()
        await eventually(lambda: not (self.data / "fall").exists())

    async def child(self, request_id: str) -> Live:
        """Return a message that was sent, once it is under way."""
        table = self.house.pipeline.live
        child = await eventually(lambda: table.find(request_id, owner=None))
        assert child is not None
        return child

    async def record(self, request_id: str) -> Shown:
        """Return the record of a message that was sent."""
        return shown(await self.house.shelf.find(request_id, owner=None))


def error_of(envelope: Shown) -> tuple[str, str]:
    """Return code and sentence of an envelope that has an error."""
    return envelope["error"]["code"], envelope["error"]["message"]
