"""A plugin that fails as it is told, for tests of the circuit breaker, and what the breaker is like."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hermes.host.workers.failures import Raised
from tests.support.bench import Bench
from tests.support.survival import Plugin

DOES: Plugin = {
    "code": """
import asyncio, os
from hermes.sdk import OutcomeUnknown, StillRunning

async def handle(message, context):
    exec("async def act():\\n    " + message["payload"].get("do", "return 'well'"), globals())
    return await act()
"""
}
"""A plugin whose handler does what a line of Python says."""
_FAILS = {
    "p": "raise LookupError",
    "speaks": "say(id=asked, error={'code': -32000, 'message': 'x'})",
    "prints": "sys.exit(1)",
}


def act(bench: Bench, what: str, *, name: str = "p", timeout: float = 20) -> asyncio.Future[Any]:
    """Begin a call that does it; the kinds of plugins are told under different names."""
    return bench.run(name, {"do": what, "harm": what}, timeout=timeout).task


async def fail(bench: Bench, times: int, *, name: str = "p") -> None:
    for _ in range(times):
        with pytest.raises(Raised):
            await act(bench, _FAILS[name], name=name)


def failures(bench: Bench, name: str = "p") -> Any:
    return bench.plugin(name)["breaker"]["failures"]


def state(bench: Bench) -> Any:
    return bench.plugin("p")["breaker"]["state"]


def unwritable() -> dict[str, Any]:
    """Return a payload that is nested too deeply for JSON."""
    deep: dict[str, Any] = {}
    for _ in range(300):
        deep = {"a": deep}
    return deep
