"""Watches what workers use that the kernel does not limit for a group: processes, memory. Ending one is the caller's."""

from __future__ import annotations

import asyncio
import os
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from hermes.host.custody import processes

_MB = 1 << 20


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """What a worker and all processes that it started may use together; None is no limit."""

    processes: int | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class _Watched:
    limits: SessionLimits
    on_over: Callable[[str], None]


class Resources:
    """Looks at the workers it was given, every `interval` seconds.

    With a worker it counts what still hangs below it, whatever session that has moved to, and what has lost its parent
    there and came to the daemon, if that is in the worker's session or has its mark.
    """

    def __init__(self, *, interval: float = 0.5) -> None:
        self._interval = interval
        self._watched: dict[int, _Watched] = {}
        self._strangers: set[int] = set()  # children of the daemon that come from none of those watched
        self._some = asyncio.Event()

    def watch(self, pid: int, limits: SessionLimits, *, on_over: Callable[[str], None]) -> None:
        """Call `on_over` once, with the reason, if more than `limits` is used by the session that `pid` leads.

        `forget` has to follow when that process has ended, before its pid can be another's.
        """
        if limits != SessionLimits():
            self._watched[pid] = _Watched(limits, on_over)
            self._strangers.clear()
            self._some.set()

    def forget(self, pid: int) -> None:
        """Look at it no more, if that was still done."""
        self._watched.pop(pid, None)

    async def run(self) -> None:
        """Look until cancelled; while there is nobody to look at it sleeps."""
        while True:
            await self._some.wait()
            await self._look()
            if not self._watched:
                self._some.clear()
            await asyncio.sleep(self._interval)

    async def _look(self) -> None:
        strays = self._strays()
        for pid, watched in list(self._watched.items()):
            if pid not in self._watched:  # it ended while we looked at others
                continue
            found = _trees([pid, *strays[pid]])
            reason = _excess(found, watched.limits)
            if reason:
                self.forget(pid)
                watched.on_over(reason)
            elif len(found) > 1:
                await asyncio.sleep(0)  # large trees take their time, and calls are waiting

    def _strays(self) -> defaultdict[int, list[int]]:
        """Return by worker the children of the daemon that have come to it from there."""
        strays: defaultdict[int, list[int]] = defaultdict(list)
        children = set(processes.children(os.getpid()))
        self._strangers &= children
        children -= self._strangers | self._watched.keys()
        marks = {processes.mark(pid): pid for pid in self._watched} if children else {}
        for child in children:
            session, mark = processes.session(child), processes.mark(child)
            if session in self._watched:
                strays[session].append(child)
            elif mark in marks and mark is not None:
                strays[marks[mark]].append(child)
            elif mark is not None:
                self._strangers.add(child)
        return strays


def _trees(roots: list[int]) -> list[int]:
    return [pid for root in roots for pid in (root, *processes.descendants(root))]


def _excess(found: list[int], limits: SessionLimits) -> str | None:
    """Say which limit was passed and by what, None if none was."""
    if limits.processes is not None and len(found) > limits.processes:
        return f"ran {len(found)} processes, more than limits.processes {limits.processes}"
    if limits.memory_bytes is not None:
        used = sum(processes.rss_bytes(pid) or 0 for pid in found)
        if used > limits.memory_bytes:
            return f"used {-(-used // _MB)} MB, more than limits.memory_mb {limits.memory_bytes // _MB}"
    return None
