"""Keeps a book of what it did to the world: one line each time it takes effect, which nothing takes back.

`effects` has the request_id of each time; `once` has the idempotency key of what is to be done once, and the number that
it was given. With `gate` a call waits first until there is such a file; with `helper` it starts a process of its own,
which nobody but Hermes will ever end.
"""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
from pathlib import Path
from typing import Any
from uuid import uuid4

from hermes.sdk import NotDone, OutcomeUnknown


async def handle(message: dict[str, Any], context: dict[str, Any]) -> Any:
    payload, folder = message["payload"], Path(context["data_dir"])
    if payload.get("helper"):
        subprocess.Popen(["sleep", "600"])  # noqa: ASYNC220 - as plugins do
    while payload.get("gate") and not os.path.exists(payload["gate"]):  # noqa: ASYNC110, ASYNC240 - a test makes it
        await asyncio.sleep(0.01)
    if message["intent"].startswith("ledger.once"):
        return await book_once(folder / "once", payload, context=context)
    await asyncio.sleep(payload.get("before", 0))
    write_line(folder / "effects", message["request_id"])
    await context["progress"]("已记账 / it is in the book")
    await asyncio.sleep(payload.get("after", 0))
    return {"booked": payload.get("name")}


async def book_once(book: Path, payload: dict[str, Any], *, context: dict[str, Any]) -> Any:
    """Write a line that nobody else has for this key; `refused` and `unsure` say how likely that is to go wrong."""
    key = context["idempotency_key"]

    async def make() -> dict[str, str]:
        await asyncio.sleep(payload.get("before", 0))
        if random.random() < payload.get("refused", 0):
            raise RuntimeError("没有记账 / it is not in the book")
        number = uuid4().hex
        write_line(book, f"{key} {number}")
        await asyncio.sleep(payload.get("after", 0))
        if random.random() < payload.get("unsure", 0):
            raise OutcomeUnknown("不知道是否记账 / who knows")
        return {"number": number}

    async def lookup() -> dict[str, str]:
        number = find_line(book, key)
        if number is None:
            raise NotDone
        return {"number": number}

    return await context["once"]("entry", make, lookup=lookup)


def find_line(file: Path, key: str) -> str | None:
    """Return what stands behind `key` in the line that begins with it."""
    lines = file.read_text().splitlines() if file.exists() else []
    found = [line.removeprefix(f"{key} ") for line in lines if line.startswith(f"{key} ")]
    return found[0] if found else None


def write_line(file: Path, line: str) -> None:
    """Append a line, whole or not at all, however suddenly this process ends."""
    book = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(book, line.encode() + b"\n")
    finally:
        os.close(book)
