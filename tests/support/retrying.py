"""Failed messages and their retries, for tests."""

from __future__ import annotations

from typing import Any

from hermes.dispatch.live import Live
from tests.support.bench import HOLD
from tests.support.house import House, Shown

HOLD_AND_FAIL = HOLD.replace("return name", "return {'error': 'no'}")

FALL = """
from pathlib import Path

async def handle(message, context):
    data = Path(context["data_dir"])
    with (data / "keys").open("a") as keys:
        keys.write(context["idempotency_key"] + "\\n")
    if (data / "good").exists():
        return message["payload"]
    return {"error": {"code": "upstream_unavailable", "message": "今天不行"}}
"""
"""A plugin that fails until a file `good` is in its data folder, and notes the key of each run."""


async def failed(house: House, request_id: str = "r1", **members: Any) -> Shown:
    """Leave a failed message of the plugin `p`."""
    record = await house.send("今天 p", "p", **({"request_id": request_id, "session_id": "s1"} | members))
    assert record["status"] == "failed"
    return record


async def retry(house: House, request_id: str | None = None, *, of: str = "r1", **members: Any) -> Live:
    named = {} if request_id is None else {"request_id": request_id}
    return await house.begin(retry_of=of, **named, **members)


def used(house: House) -> list[str]:
    """Return the keys that the runs of `p` were given."""
    return (house.data("p") / "keys").read_text().split()


def mend(house: House) -> None:
    """Let what failed succeed from now on."""
    (house.data("p") / "good").touch()
