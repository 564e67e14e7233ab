"""Plugins that do harm when they are told to, beside one that is called all the while: what may not come of it."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import textwrap
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import psutil

from tests.support.bench import Bench, eventually
from tests.support.daemon import left_behind
from tests.support.employer import SPEAK

Plugin = dict[str, Any]
"""What `Bench.write` takes beside the name: `code`, and members of the manifest."""
Case = tuple[Plugin, str]
"""A plugin, and a pattern of how the call ends that has it do harm."""

_NEVER = (
    10**6
)  # failures in a row until the breaker opens: what is tried is what is left of the plugin itself
_CALLERS = 3  # of the plugin beside
_BESIDE = """
async def handle(message, context):
    return {"sum": sum(message["payload"]["numbers"]), "文": message["request_id"]}
"""
_IMPORTS = """
import asyncio, contextlib, ctypes, json, os, random, signal, subprocess, sys, threading, time
from concurrent.futures import ProcessPoolExecutor
"""
_HANDLES = """
async def handle(message, context):
    how = message["payload"].get("harm")
    return await harm(how, context, context["progress"]._wire) if how else "well"
"""
_SPEAKS = """
while True:
    frame = hear()
    if frame.get("method") == "handle":
        params = frame["params"]
        how = params["message"]["payload"].get("harm")
        harm(how, frame["id"], params["call"]) if how else say(id=frame["id"], result="well")
    elif "id" in frame:
        say(id=frame["id"], result={"protocol": 1})
"""
_PRINTS = """
how = json.load(sys.stdin)["payload"].get("harm")
harm(how) if how else print("well")
"""


def handling(harm: str, **manifest: Any) -> Plugin:
    """Return a plugin in Python; what its handler does is told `how`, and has `context` and the worker's own `wire`."""
    return {"code": _IMPORTS + _function("async def harm(how, context, wire)", harm) + _HANDLES, **manifest}


def speaking(harm: str, **manifest: Any) -> Plugin:
    """Return a plugin of runtime `process`; what it does has the id of the request as `asked`, and `call`."""
    code = _IMPORTS + SPEAK + _function("def harm(how, asked, call)", harm) + _SPEAKS
    return {"code": code, "runtime": "process", "command": [sys.executable, "plugin.py"], **manifest}


def printing(harm: str, **manifest: Any) -> Plugin:
    """Return a plugin of runtime `executable`."""
    code = _IMPORTS + _function("def harm(how)", harm) + _PRINTS
    return {"code": code, "runtime": "executable", "command": [sys.executable, "-S", "plugin.py"], **manifest}


class Survivors:
    """The plugins that do harm in one host. `most_bytes` is the most memory that this process held meanwhile."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._stop = False
        self._process = psutil.Process()
        self.most_bytes = 0

    async def harm(self, *names: str, how: Any = True, seconds: float = 20) -> dict[str, str]:
        """Have these plugins do harm, all at the same time; return how the calls ended, each within `seconds`."""
        runs = [self._bench.run(name, {"harm": how}, timeout=seconds) for name in names]
        ends = await asyncio.gather(*(run.task for run in runs), return_exceptions=True)
        return dict(zip(names, map(_told, ends), strict=True))

    async def keep_calling(self, number: int) -> int:
        """Call the plugin beside until `stop`, and return how often; every answer is right."""
        count = 0
        while not self._stop:
            request_id = f"beside-{number}-{count}"
            run = self._bench.run("beside", {"numbers": [number, count]}, request_id=request_id)
            assert await run == {"sum": number + count, "文": request_id}
            self.most_bytes = max(self.most_bytes, self._process.memory_info().rss)
            count += 1
            await asyncio.sleep(0.001)
        return count

    def stop(self) -> None:
        self._stop = True


@asynccontextmanager
async def survived(
    bench: Bench, plugins: Mapping[str, Plugin], *, failure_threshold: int = _NEVER
) -> AsyncIterator[Survivors]:
    """Give plugins that are ready, and see that what harm they do stays with them.

    Meanwhile another plugin is called, and every call ends well. Afterwards each works by itself, no process is left but
    the workers, nothing waits to be reaped, and this process has no more descriptors than before.
    """
    bench.environ["HOME"] = str(bench.home)  # handed on to whatever is started, which is found by it
    for name, plugin in plugins.items():
        bench.write(name, **plugin)
    bench.write("beside", _BESIDE, concurrency=_CALLERS)
    bench.start(failure_threshold=failure_threshold)
    await _are_well(bench, plugins)
    await bench.worker("beside")
    descriptors, survivors = _descriptors(), Survivors(bench)
    callers = [asyncio.ensure_future(survivors.keep_calling(number)) for number in range(_CALLERS)]
    try:
        yield survivors
    finally:
        survivors.stop()
        counts = await asyncio.gather(*callers)
    assert min(counts) > 0
    await _are_well(bench, plugins)
    await eventually(lambda: not _strangers(bench, plugins))
    await eventually(lambda: not _zombies())
    await eventually(lambda: _descriptors() <= descriptors)


async def survive(bench: Bench, cases: Mapping[str, Case], *, seconds: float = 20) -> None:
    """Have every plugin do harm at the same time, and see that the calls end as they should."""
    async with survived(bench, {name: plugin for name, (plugin, _) in cases.items()}) as survivors:
        ends = await survivors.harm(*cases, seconds=seconds)
    assert wrong(ends, {name: pattern for name, (_, pattern) in cases.items()}) == {}


def wrong(ends: Mapping[str, str], patterns: Mapping[str, str]) -> dict[str, str]:
    """Return the ends that do not begin as they should."""
    return {name: end for name, end in ends.items() if not re.match(patterns[name], end)}


async def _are_well(bench: Bench, names: Iterable[str]) -> None:
    runs = {name: bench.run(name).task for name in names}
    await asyncio.gather(*runs.values(), return_exceptions=True)
    ends = {name: _told(run.exception() or run.result()) for name, run in runs.items()}
    assert ends == dict.fromkeys(runs, _told("well"))


def _told(end: object) -> str:
    """Return how a call ended: `Crashed: the reason`, or its result as Python writes it."""
    return f"{type(end).__name__}: {end}" if isinstance(end, BaseException) else repr(end)


def _strangers(bench: Bench, plugins: Iterable[str]) -> list[psutil.Process]:
    """Return what runs in the name of a plugin and is no worker."""
    workers = {row["pid"] for name in (*plugins, "beside") for row in bench.plugin(name)["workers"]}
    return [one for one in left_behind(bench.home) if one.pid not in workers]


def _zombies() -> list[int]:
    return [one.pid for one in psutil.Process().children() if _is_zombie(one)]


def _is_zombie(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def _function(head: str, body: str) -> str:
    return f"{head}:\n{textwrap.indent(textwrap.dedent(body), ' ' * 4)}\n"
