"""Sleeps so that it can be woken, or blocks so that only an end of the process helps."""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any


async def handle(message: dict[str, Any], _context: dict[str, Any]) -> Any:
    if message["intent"] == "stuck.sleep":
        await asyncio.sleep(60)
    if message["intent"] == "stuck.block":
        time.sleep(60)  # noqa: ASYNC251 - what it is here for
    return {"pid": os.getpid()}
