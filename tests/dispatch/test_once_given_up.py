"""A step that its own call has given up on: the call may look how it went, like any other that finds it so."""

from __future__ import annotations

import pytest

from tests.support.house import House

GIVES_UP = """
import asyncio
from pathlib import Path
from hermes.sdk import OutcomeUnknown

async def handle(message, context):
    effects = Path(context["data_dir"]) / "effects"

    async def make():
        with effects.open("a") as file:
            file.write("made\\n")
        if message["payload"]["how"] == "late":
            await asyncio.sleep(600)
        raise OutcomeUnknown("the line broke")

    async def lookup():
        return {"found": effects.read_text()}

    try:
        async with asyncio.timeout(0.1):
            await context["once"]("step", make)
    except (TimeoutError, OutcomeUnknown):
        return await context["once"]("step", make, lookup=lookup)
"""

LARGE = """
async def handle(message, context):
    async def make():
        return "x" * (2 << 20)

    return len(await context["once"]("step", make))
"""


@pytest.mark.parametrize("how", ["late", "unsure"])
async def test_a_step_that_the_call_has_given_up_on_is_looked_up_by_the_call_itself(
    house: House, how: str
) -> None:
    house.write("p", GIVES_UP)
    house.open()
    record = await house.send(None, "p", payload={"how": how})
    assert record["envelope"]["data"] == {"found": "made\n"}


async def test_a_result_that_is_too_large_for_the_wire_is_returned_and_not_kept_without_a_wait(
    house: House,
) -> None:
    house.write("p", LARGE)
    house.open()  # frames of a house have 1 MiB
    record = await house.send(None, "p")
    assert record["envelope"]["data"] == 2 << 20
    assert record["envelope"]["elapsed_ms"] < 10_000  # what the worker gives an answer that never comes
