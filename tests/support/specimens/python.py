"""The specimen of runtime `python`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.support.specimens.base import FAULT, LARGE, Specimen

_HANDLE = f"""
import asyncio

async def handle(message, context):
    text = message["payload"]["text"]
    if text == "fail":
        raise ValueError("{FAULT}")
    if text == "large":
        return "x" * {LARGE}
    await context["progress"]("正在看", 40)
    if text == "wait":
        await asyncio.Event().wait()
    return {{"data": text, "error": None}}
"""


@asynccontextmanager
async def specimen() -> AsyncIterator[Specimen]:
    """Give a handler."""
    yield Specimen({}, {"plugin.py": _HANDLE})
