"""Tells when plugins or files may have changed, and which. Only that: whether they have, whoever is told looks up."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import math
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hermes.host.files.mounts import Mounts
from hermes.host.files.spots import Linked, Touched, find_spots
from hermes.host.files.watches import System, Watches
from hermes.observe.logs import Logger

Mode = Literal["events", "polling", "off"]

_AT_LATEST = 10  # debounces after the first event, however many follow
_MANY = (
    1000  # events before a look; the system drops some of very many, so that nobody knows what else there was
)
_RENEWED_WITHIN = 5.0  # seconds; a folder on a server that is away may take for ever
_POLL_EVERY = 1.0  # seconds

_LIMITS = {
    errno.ENOSPC: "no more folders can be watched; raise the sysctl fs.inotify.max_user_watches",
    errno.EMFILE: "no more watchers can be made; raise the sysctl fs.inotify.max_user_instances or the limit of open files",
}


@dataclass(frozen=True, slots=True)
class WatchSettings:
    """How to watch. `debounce` is how many seconds must be silent before a look, `sweep` how many lie between looks at all."""

    watch: Literal["auto", "polling", "off"] = "auto"
    debounce: float = 0.2
    sweep: float = 30.0


class Watcher:
    """Watches what lies in `folder`, and `files`. One task waits at a time; what happens between two waits is kept.

    It may be started before there is a folder. Start it before the first look, so that no change falls between.
    """

    def __init__(
        self,
        folder: Path,
        settings: WatchSettings,
        *,
        files: Sequence[Path] = (),
        log: Logger,
        system: System | None = None,
    ) -> None:
        self._folder = folder
        self._files = tuple(files)
        self._settings = settings
        self._log = log
        self._system = system or System()
        self._mode: Mode = "off"
        self._hints = _Hints()
        self._watches = Watches(folder, self._files, tell=self._hints.add)
        self._renewal: asyncio.Task[str | None] | None = None
        self._polled: dict[Path, tuple[int, ...]] = {}
        self._swept = time.monotonic()

    @property
    def mode(self) -> Mode:
        """How it watches now."""
        return self._mode

    async def start(self) -> None:
        """Begin to watch, by polling if the system's events cannot be had or would not tell everything."""
        self._hints.open(asyncio.get_running_loop())
        self._swept = time.monotonic()
        if self._settings.watch == "auto":
            reason = await asyncio.to_thread(self._open_events)
            if reason is not None:
                await self._fall_back(reason)
                return
            self._mode = "events"
        elif self._settings.watch == "polling":
            await self._poll()
        polled = {"polled": list(map(str, self._polled))} if self._polled else {}
        self._log.info("watching", mode=self._mode, folder=str(self._folder), **polled)

    async def stop(self) -> None:
        """End the watching; whoever waits still is to be cancelled."""
        self._mode = "off"
        self._hints.close()
        await asyncio.to_thread(self._watches.close)

    async def wait(self) -> Touched:
        """Return when something may have changed: entries of the folder as `folder/name` and files, None for everything.

        That is `debounce` seconds after the last event, and at the latest ten times that after the first. Every `sweep`
        seconds it is everything: events may be lost, and places that links inside of a plugin lead to are not watched.
        Without watching it returns never.
        """
        while (left := self._due() - time.monotonic()) > 0:
            await self._pause(left)
        swept = self._due_to_sweep() <= time.monotonic()
        await self._renew()
        touched = self._hints.take()
        if swept or touched is None:
            self._swept = time.monotonic()
            return None
        return touched

    def _due_to_sweep(self) -> float:
        return math.inf if self._mode == "off" else self._swept + self._settings.sweep

    def _due(self) -> float:
        """Return when to look, were there no more events."""
        first, last = self._hints.times
        debounce = self._settings.debounce
        return min(self._due_to_sweep(), last + debounce, first + _AT_LATEST * debounce)

    async def _pause(self, left: float) -> None:
        """Let time pass, until `left` seconds are over, or the first event comes, or files are to be looked at."""
        if self._polled:
            left = min(left, _POLL_EVERY)
        await self._hints.wait(left)
        for path, before in self._polled.items():
            self._polled[path] = now = _state(path)
            if now != before:
                self._hints.add(frozenset({path}))

    async def _renew(self) -> None:
        """Let the watches follow what changed, before it is told: what changes after that must be heard."""
        if self._renewal is None:
            self._renewal = asyncio.create_task(asyncio.to_thread(self._renew_watches))
        done, _ = await asyncio.wait({self._renewal}, timeout=_RENEWED_WITHIN)
        if not done:
            return  # they follow when it has come to an end
        renewal, self._renewal = self._renewal, None
        reason = renewal.result()
        if reason is not None:
            await self._fall_back(reason)
            self._hints.add(None)  # what was not heard of until now

    def _renew_watches(self) -> str | None:
        """Let the watches follow; return why that cannot be done by events any more."""
        try:
            self._watches.renew()
        except OSError as error:
            return _reason(error)
        return None

    def _open_events(self) -> str | None:
        """Begin to watch by events; return why not, if that is no use."""
        try:
            mounts = Mounts(self._system.mountinfo)
            linked = [Path(spot.path) for spot in find_spots(self._folder, ()) if isinstance(spot, Linked)]
            for path in (self._folder, *linked, *self._files):
                kind = mounts.silent_type(path)
                if kind is not None:
                    return (
                        f"{path} lies on a file system ({kind}) that does not tell what changes from outside"
                    )
            self._polled = {path: _state(path) for path in self._files if mounts.is_mount(path)}
            self._watches.open(self._system.events, polled=False)
        except OSError as error:
            return _reason(error)
        return None

    async def _fall_back(self, reason: str) -> None:
        await self._poll()
        self._log.warning("watching_by_polling", reason=reason, folder=str(self._folder))

    async def _poll(self) -> None:
        """Watch by polling from now on."""
        self._polled = {}
        await asyncio.to_thread(self._watches.close)
        await asyncio.to_thread(self._watches.open, self._system.polling, polled=True)
        self._mode = "polling"


class _Hints:
    """What was told since it was last taken: in the observer's threads, for a task on the loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._told = asyncio.Event()
        self._touched: set[Path] = set()
        self._everything = False
        self._count = 0
        self._first = self._last = math.inf

    @property
    def times(self) -> tuple[float, float]:
        """When the first and the last came, on the monotonic clock; infinity if nothing did."""
        with self._lock:
            return self._first, self._last

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def close(self) -> None:
        """Hear nothing any more: the loop may close before the threads end."""
        with self._lock:
            self._loop = None

    def add(self, touched: Touched) -> None:
        with self._lock:
            if self._loop is None:
                return
            self._last = time.monotonic()
            self._count += 1
            if touched is None or self._count > _MANY:
                self._everything = True
            else:
                self._touched |= touched
            if self._count == 1:
                self._first = self._last
                self._loop.call_soon_threadsafe(self._told.set)

    def take(self) -> Touched:
        with self._lock:
            touched = None if self._everything else frozenset(self._touched)
            self._touched = set()
            self._everything = False
            self._count = 0
            self._first = self._last = math.inf
            return touched

    async def wait(self, seconds: float) -> None:
        """Let time pass; return early if nothing had come and something comes."""
        self._told.clear()
        if self.times[0] < math.inf:
            await asyncio.sleep(seconds)
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if seconds == math.inf else seconds):
                await self._told.wait()


def _reason(error: OSError) -> str:
    return _LIMITS.get(error.errno or 0, error.strerror or str(error))


def _state(path: Path) -> tuple[int, ...]:
    """Return what changes with a file's content; nothing if there is no file."""
    try:
        status = os.stat(path)
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_mode
