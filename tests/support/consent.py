"""Calls that need a person's consent, for tests: a plugin that notes its runs, people, and a call that waits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hermes.auth.policy import Caller
from hermes.dispatch.live import Live
from hermes.messages import Principal
from tests.support.house import House

NOTE = """
from pathlib import Path

async def handle(message, context):
    with (Path(context["data_dir"]) / "runs").open("a") as runs:
        runs.write(message["request_id"] + " " + context["idempotency_key"] + "\\n")
    return message["payload"]
"""
"""A plugin that notes each run with the key that makes its writes one, and gives back the payload."""

SENDS = frozenset({"messages", "read"})
ASKER = Caller(Principal("key", "ci"), SENDS)
OTHER = Caller(Principal("key", "ops", "slack:U7"), SENDS)
ADMIN = Caller(Principal("key", "root"), frozenset({"admin"}))
PAYLOAD = {"env": "生产", "count": 2}


def write_deploy(house: House, *, confirm: Any = True, plugin: str = "deploy", **intent: Any) -> Path:
    """Write a plugin with the intent `deploy`, which writes; its worker starts when there is something to run."""
    return house.write(
        plugin,
        NOTE,
        intents=[{"name": "deploy", "writes": True, "confirm": confirm, **intent}],
        workers={"min": 0, "max": 1, "idle_stop": 600},
    )


async def ask(house: House, **members: Any) -> Live:
    """Send what `deploy` asks a consent for, and return it once it waits for that."""
    live = await house.begin(None, "deploy", **({"payload": PAYLOAD, "caller": ASKER} | members))
    await house.reached(live, "PROGRESS")
    return live


def runs(house: House, plugin: str = "deploy") -> list[str]:
    """Return the request_ids that the plugin has run."""
    return [line.split()[0] for line in _noted(house, plugin)]


def keys(house: House, plugin: str = "deploy") -> list[str]:
    """Return the keys that its runs were given."""
    return [line.split()[1] for line in _noted(house, plugin)]


def _noted(house: House, plugin: str) -> list[str]:
    file = house.data(plugin) / "runs"
    return file.read_text().splitlines() if file.exists() else []


async def told(house: House) -> list[str]:
    """Return the types of all events that listeners have heard in this house."""
    subscription, _ = house.bus.subscribe(lambda _: True, after=0)
    subscription.close("ended")
    return [one.type async for one in subscription.events()]
