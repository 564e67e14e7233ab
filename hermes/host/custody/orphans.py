"""Ends the processes that outlive the worker they came from. The workers themselves end elsewhere.

The daemon is a child subreaper: whoever loses the parent among a worker's descendants becomes the daemon's child. Nobody
but those is waited for here; what the daemon has started itself is its event loop's to reap.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import secrets
import signal
import sys
import time
from collections.abc import Iterator

from hermes.host.custody import processes
from hermes.host.custody.processes import Stat
from hermes.observe.logs import Logger
from hermes.sdk import bootstrap

_PR_SET_CHILD_SUBREAPER = 36
_INTERVAL = 2.0  # seconds
_SOON = (
    0.01  # seconds until the next look when there was something to end; then it takes twice as long each time
)
_GONE_WITHIN = 2.0  # seconds for what was killed to be gone, at the start and at the end
_BATCH = 500  # processes that a sweep ends: calls are waiting meanwhile, and the next one is soon

_Key = tuple[int, int]  # pid and start: the pid alone may be another's by now


class Orphans:
    """Marks the workers of one daemon, and ends what still runs of those that have ended.

    Whatever the daemon starts in a session of its own needs a mark of `new_mark` in its environment, as
    `processes.MARK`: without one it is taken for an orphan at second sight. `state_id` names a state folder, and no
    other one of this machine; it is not called by two daemons at a time. `interval`, in seconds, parts two sights.
    """

    def __init__(self, state_id: str, *, log: Logger, interval: float = _INTERVAL) -> None:
        self._prefix = f"{state_id}:"
        self._log = log
        self._interval = interval
        run = secrets.token_hex(4)
        self._marks = (f"{self._prefix}{run}-{number}" for number in itertools.count(1))
        self._living: dict[str, int] = {}  # pid by mark, 0 while it is being started
        self._known: set[int] = set()
        self._spared: frozenset[_Key] = frozenset()  # children that this process was born with
        self._seen: dict[_Key, float] = {}  # children that are no workers, and since when, monotonic
        self._ending: dict[_Key, str] = {}  # killed and still there: their names, "" if they had ended before
        self._wake = asyncio.Event()
        self._closing = False

    async def open(self) -> None:
        """Take orphans in from now on, and end what an earlier daemon on this state folder left behind."""
        obstacle = _adopt()
        if obstacle:
            self._log.warning("orphans_escape", reason=obstacle)
        self._spared = frozenset((pid, stat.started) for pid, stat in _children(but=set()))
        await self._end_all()

    def new_mark(self) -> str:
        """Return the mark of a worker that is about to be started; `ended` has to follow, even if it did not start."""
        mark = next(self._marks)
        self._living[mark] = 0
        return mark

    def enroll(self, pid: int, mark: str) -> None:
        """Take note of a worker's own process: it is left alone until `ended`."""
        if mark in self._living:  # else it ended before anyone got hold of it
            self._living[mark] = pid
            self._known.add(pid)

    def ended(self, mark: str) -> None:
        """Take note that a worker's own process has ended and was reaped: what it left behind is ended at once."""
        self._known.discard(self._living.pop(mark, 0))
        self._wake.set()

    async def run(self) -> None:
        """Sweep until cancelled."""
        pause = self._interval
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._wake.wait()
            woken = self._wake.is_set()
            self._wake.clear()
            await asyncio.sleep(0)  # after a stall the event loop has yet to reap what is its own
            found = self._sweep(patience=self._interval)
            # What was killed is to be reaped, and a mark that could not be read may be at the next look.
            pause = _SOON if woken or found else min(pause * 2, self._interval)

    async def close(self) -> None:
        """End all that is left, workers too; nothing may be started any more."""
        self._closing = True
        await self._end_all()

    async def _end_all(self) -> None:
        """End whatever carries a mark of this state folder or came to us, and wait until it is gone."""
        deadline = time.monotonic() + _GONE_WITHIN
        while True:
            for pid, stat in _marked(self._prefix):
                self._end(pid, stat)
            self._sweep(patience=0)
            if not self._ending:
                return
            if time.monotonic() >= deadline:
                break
            await asyncio.sleep(_SOON)
        self._log.warning("orphans_left", pids=[pid for pid, _ in self._ending])

    def _sweep(self, *, patience: float) -> bool:
        """Say whether there was anyone to end."""
        found = total = self._find(patience=patience)
        while found and total < _BATCH:  # the children of those that were ended may be ours by now
            found = self._find(patience=patience)
            total += found
        self._settle()
        return total > 0

    def _find(self, *, patience: float) -> int:
        """Begin to end the orphans among our children, and return how many processes that are."""
        now, own, found = time.monotonic(), os.getsid(0), 0
        seen: dict[_Key, float] = {}
        for pid, stat in _children(but=self._known):
            key = (pid, stat.started)
            # What a plugin starts can leave its session, but not come into the daemon's: who is there is no plugin's.
            if key in self._ending or stat.session == own:
                continue
            seen[key] = self._seen.get(key, now)
            if self._is_orphan(pid, stat, ripe=now - seen[key] >= patience):
                found += self._end(pid, stat)
            if found >= _BATCH:
                break
        self._seen = seen
        return found

    def _is_orphan(self, pid: int, stat: Stat, *, ripe: bool) -> bool:
        """Say whether a child that is no known worker came to us and has no worker any more.

        What is being started is not known yet: it carries a living mark or, if it has died at once, leads its session
        until the event loop reaps it.
        """
        if stat.ended:
            return ripe or stat.session != pid
        mark = processes.mark(pid)
        if mark is not None and mark.startswith(self._prefix):
            return mark not in self._living
        # The first process of a container gets everyone's orphans, and is to reap them, not to kill them.
        stranger = os.getpid() == 1 or (pid, stat.started) in self._spared
        at_home = stat.session in self._known and not self._closing
        return ripe and not stranger and not at_home

    def _end(self, pid: int, stat: Stat) -> int:
        """Kill a process with all below it, and return how many that are."""
        before = len(self._ending)
        for one in (pid, *processes.descendants(pid, most=_BATCH)):
            found = stat if one == pid else processes.stat(one)
            if found is not None and (one, found.started) not in self._ending:
                self._ending[one, found.started] = "" if found.ended else found.name
                _kill(one, found)
        return len(self._ending) - before

    def _settle(self) -> None:
        """Reap those that were killed and are ours to reap, and forget those that are gone."""
        parents = {pid for pid, _ in self._ending}
        for (pid, started), name in list(self._ending.items()):
            if self._is_gone((pid, started), parents):
                del self._ending[pid, started]
                if name:
                    self._log.warning("orphan_ended", pid=pid, command=name)

    def _is_gone(self, key: _Key, parents: set[int]) -> bool:
        """Say whether a process has ended and either is reaped now or is another's to reap, who is not ending himself."""
        pid, started = key
        stat = processes.stat(pid)
        if stat is None or stat.started != started:
            return True
        if not stat.ended or stat.parent in parents:
            return False
        if stat.parent != os.getpid() or pid in self._known:
            return True
        try:
            return os.waitpid(pid, os.WNOHANG)[0] == pid  # not yet, if threads outlive the first one
        except ChildProcessError:
            return True


def _adopt() -> str | None:
    """Become the parent of all orphans below; return what is in the way where that should be possible."""
    if sys.platform != "linux":
        return None
    if not bootstrap.prctl(_PR_SET_CHILD_SUBREAPER, 1):
        return "the kernel makes no child subreaper of this process"
    if not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
        return "there is no list of children in /proc"
    return None


def _children(*, but: set[int]) -> Iterator[tuple[int, Stat]]:
    """Return our children with what there is on them, `but` those that need not be looked at."""
    for pid in processes.children(os.getpid()):
        stat = processes.stat(pid) if pid not in but else None
        if stat is not None:
            yield pid, stat


def _marked(prefix: str) -> Iterator[tuple[int, Stat]]:
    """Return the processes of this user whose mark begins so; not this one and those that it is a child of."""
    lineage = {0}
    pid = os.getpid()
    while pid not in lineage:
        lineage.add(pid)
        above = processes.stat(pid)
        pid = above.parent if above is not None else 0
    for pid in processes.everyone(os.geteuid()):
        stat = processes.stat(pid) if pid not in lineage else None
        # The mark is read after the start, so that it is not of one who came to the same pid later.
        if stat is not None and (processes.mark(pid) or "").startswith(prefix):
            yield pid, stat


def _kill(pid: int, stat: Stat) -> None:
    """Kill this very process, which may be gone and its pid another's."""
    fd = -1
    with contextlib.suppress(OSError, AttributeError):  # an older kernel, another system, no descriptor left
        fd = os.pidfd_open(pid)
    try:
        if processes.started(pid) == stat.started:
            with contextlib.suppress(ProcessLookupError, PermissionError):  # ended, or become another user's
                if fd >= 0:
                    signal.pidfd_send_signal(fd, signal.SIGKILL)
                else:
                    os.kill(pid, signal.SIGKILL)
    finally:
        if fd >= 0:
            os.close(fd)
