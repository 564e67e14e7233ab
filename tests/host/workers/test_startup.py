"""What becomes of a worker that does not come up: nothing of it is left, and why is told."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes.host.workers.failures import Crashed, Raised
from hermes.host.workers.launch import blank_launch
from hermes.host.workers.startup import start_worker
from hermes.host.workers.wire_worker import Launch, WireWorker
from tests.support.bench import alive, eventually, file_text
from tests.support.employer import SPEAK
from tests.support.shop import Shop


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    shop = Shop(tmp_path)
    yield shop
    await shop.close()


def hangs(shop: Shop) -> tuple[Launch, Path]:
    """Write a plugin that is imported for ever with a child beside it; return its launch and the file of that one's pid."""
    child = shop.home / "child"
    code = f"""
import subprocess, time
open({str(child)!r}, "w").write(str(subprocess.Popen(["sleep", "600"]).pid))
time.sleep(600)
"""
    folder = shop.write({"plugin.py": code})
    return blank_launch(shop.environ, folder, frame_bytes=1 << 20), child


async def start(shop: Shop, launch: Launch, *, ready_within: float = 20) -> WireWorker:
    return await start_worker(
        shop.load(), launch, listener=shop, ready_within=ready_within, directory=str(launch.directory)
    )


async def test_a_plugin_that_is_not_ready_in_time_is_ended_with_all_that_it_started(shop: Shop) -> None:
    launch, file = hangs(shop)
    with pytest.raises(Crashed, match=r"the plugin was not ready within 1 s"):
        await start(shop, launch, ready_within=1)
    child = int(await file_text(file))
    await eventually(lambda: not alive(child))


async def test_who_gives_up_a_start_leaves_nothing_of_it(shop: Shop) -> None:
    launch, file = hangs(shop)
    starting = asyncio.create_task(start(shop, launch))
    child = int(await file_text(file))
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    await eventually(lambda: not alive(child))
    before = asyncio.create_task(start(shop, launch))
    await asyncio.sleep(0)
    before.cancel()  # before there is a process
    with pytest.raises(asyncio.CancelledError):
        await before


@pytest.mark.parametrize("result", ["None", "{'protocol': 2}", "[1]"])
async def test_a_worker_of_another_protocol_is_told_and_ended(shop: Shop, result: str) -> None:
    shop.write({"plugin.py": ""})
    script = SPEAK + f"say(id=hear()['id'], result={result})\nhear()\n"
    launch = Launch((sys.executable, "-c", script), {}, shop.home, 1 << 20)
    with pytest.raises(Raised, match="the worker does not speak protocol 1"):
        await start(shop, launch)
    assert shop.exits == ["the worker ended with signal SIGKILL"]
