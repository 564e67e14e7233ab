"""A worker whose handler is within `once`, and the host's half of it in the test's hands."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.by_hand import ByHand, Frame

ISSUE = {"key": "OPS-1", "标题": "磁盘满了"}
MAKE = f"return {ISSUE!r}"
WAIT = "print('at it'); await asyncio.sleep(600)"
"""A body for `make` or `lookup`: it tells that it has begun and then waits to be cancelled."""
MINE = {"call": "c1", "key": "issue"}
"""What the requests of the call name."""


@contextmanager
def at_work(folder: Path, *, make: str = MAKE, lookup: str = "") -> Iterator[tuple[ByHand, int, Frame]]:
    """Give a worker whose handler is within `once`, the id of its call, and the `once.begin` that it has sent."""
    code = "import asyncio, sys, time\nfrom hermes.sdk import NotDone, OutcomeUnknown, StillRunning\n"
    code += "\nasync def handle(message, context):\n    async def make():\n" + textwrap.indent(make, " " * 8)
    if lookup:
        code += "\n    async def lookup():\n" + textwrap.indent(lookup, " " * 8)
    code += f"\n    return await context['once']('issue', make{', lookup=lookup' if lookup else ''})\n"
    with ByHand(folder, code) as worker:
        worker.initialize()
        call = worker.handle()
        begin = worker.asked()
        assert (begin["method"], begin["params"]) == ("once.begin", MINE)
        yield worker, call, begin


def error(answer: tuple[Frame, list[Frame]]) -> tuple[int, str]:
    frame, _ = answer
    return frame["error"]["code"], frame["error"]["message"]


def asked(answer: tuple[Frame, list[Frame]]) -> list[str]:
    """Return the methods of the requests that came before an answer."""
    return [frame["method"] for frame in answer[1] if "id" in frame]
