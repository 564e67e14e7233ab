"""Two plugins that change at once, and a witness of who serves what meanwhile."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.support.bench import OBEY, Bench

BROKEN = "import os\n\ndef broken(:\n"


def manifest(folder: Path, name: str, *intents: str, **more: Any) -> None:
    (folder / "manifest.json").write_text(json.dumps({"name": name, "intents": list(intents)} | more))


def swap(one: Path, other: Path) -> None:
    beside = one.with_name(".aside")
    one.rename(beside)
    other.rename(one)
    beside.rename(other)


def served(bench: Bench) -> dict[str, str]:
    assert bench.host is not None
    return {target.service.intent.name: target.plugin.manifest.name for target in bench.host.targets}


def errors(bench: Bench) -> dict[str, str | None]:
    assert bench.host is not None
    found = {row["name"]: row["last_error"] for row in bench.host.describe()}
    return {name: error and error.message for name, error in found.items()}


def reloads(bench: Bench, *names: str) -> list[int]:
    return [bench.plugin(name)["reloads"] for name in names]


@asynccontextmanager
async def witness(bench: Bench) -> AsyncIterator[list[dict[str, str]]]:
    """Note who serves what, between any two steps of the loop, whenever it is not what it was."""
    seen = [served(bench)]

    async def look() -> None:
        while True:
            now = served(bench)
            if now != seen[-1]:
                seen.append(now)
            await asyncio.sleep(0)

    task = asyncio.ensure_future(look())
    try:
        yield seen
    finally:
        task.cancel()


async def pair(bench: Bench, code: str = OBEY, **more: Any) -> tuple[Path, Path]:
    """Start plugin `p` in folder `a` and `q` in `b`, each with an intent of its name."""
    folders = []
    for folder_name, name in (("a", "p"), ("b", "q")):
        folder = bench.write(folder_name, code)
        manifest(folder, name, name, **more)
        folders.append(folder)
    bench.start()
    for name in "pq":
        await bench.worker(name)
    return folders[0], folders[1]
