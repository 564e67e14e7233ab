"""What an earlier process accepted and did not end: worked off in the background, a few messages of each plugin at a time.

New messages find room beside it, and a plugin that is slow holds up its own backlog alone.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any

import orjson

from hermes.dispatch.live import Live
from hermes.errors import JournalError
from hermes.host.host import Host
from hermes.journal.base import Entry, Journal
from hermes.observe.logs import Logger

_PAGE = 50  # entries read at a time; each may hold a payload as large as a body may be
_WIDEST = 64  # messages of one plugin under way at a time
_ELSEWHERE = 16  # messages under way at a time that no plugin runs
_PAUSES = (0.05, 0.2, 1.0, 5.0)  # seconds before the journal is read again after it could not be


@dataclass(slots=True)
class _Lane:
    """The ids that wait in one lane, and how many of its messages may be under way and are."""

    width: int
    numbers: deque[int] = field(default_factory=deque)
    workers: int = 0


class Backlog:
    """The messages of earlier processes that are not taken up yet. Each is taken up once, in its turn or when asked for.

    `take_up` begins a message and returns it, None if it cannot be read.
    """

    def __init__(
        self, journal: Journal, host: Host, *, take_up: Callable[[Entry], Live | None], log: Logger
    ) -> None:
        self._journal = journal
        self._host = host
        self._take_up = take_up
        self._log = log
        self._end = 0  # ids below were given by earlier processes
        self._read = 0  # ids up to here are known
        self._waiting: set[int] = set()  # known, and not taken up
        self._early: set[int] = set()  # taken up before they were known
        self._lanes: dict[str, _Lane] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> int:
        """Return how many messages there are; from here on they can be asked for. Nothing new may be kept before."""
        self._end = self._journal.next_id()
        return await self._journal.unfinished()

    def start(self) -> None:
        """Begin to work it off."""
        self._own(self._scan())

    async def stop(self) -> None:
        """Take nothing up any more."""
        self._end = 0
        self._waiting.clear()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def waiting(self) -> bool:
        """Say whether there is something that is not taken up yet."""
        return self._read < self._end or bool(self._waiting)

    def ask_for(self, entry: Entry) -> Live | None:
        """Take a message up now if its turn has not come yet; None if it has, or if it is none of the backlog."""
        if entry.id in self._waiting:
            self._waiting.remove(entry.id)
        elif self._read < entry.id < self._end and entry.id not in self._early:
            self._early.add(entry.id)
        else:
            return None
        return self._take_up(entry)

    async def _scan(self) -> None:
        """Put every message into the lane of its plugin; what waits for a person needs none."""
        while entries := await self._patiently(self._read, _PAGE):
            for entry in entries:
                if entry.id >= self._end:
                    break
                self._read = entry.id
                if entry.id in self._early:
                    continue
                self._waiting.add(entry.id)
                if entry.status == "awaiting_confirmation":
                    self.ask_for(entry)
                else:
                    self._put(self._lane(entry), entry.id)
            else:
                continue
            break
        self._read = self._end

    def _lane(self, entry: Entry) -> _Lane:
        try:
            target = self._host.find(orjson.loads(entry.record)["message"]["intent"])
        except (ValueError, TypeError, KeyError):  # whoever takes it up will say so
            target = None
        if target is None:
            return self._lanes.setdefault("", _Lane(_ELSEWHERE))
        # What is new finds a place as soon as one of these ends, however many the plugin can run.
        lane = _Lane(min(_WIDEST, self._host.capacity(target)))
        return self._lanes.setdefault(target.plugin.manifest.name, lane)

    def _put(self, lane: _Lane, number: int) -> None:
        lane.numbers.append(number)
        if lane.workers < lane.width:
            lane.workers += 1
            self._own(self._work_off(lane))

    async def _work_off(self, lane: _Lane) -> None:
        """See one message of a lane after the other to its end, or to where it waits for a person."""
        while lane.numbers:
            number = lane.numbers.popleft()
            if number not in self._waiting:
                continue
            found = await self._patiently(number - 1, 1)
            live = self.ask_for(found[0]) if found and found[0].id == number else None
            if live is not None:
                await live.wait()
        lane.workers -= 1

    async def _patiently(self, after: int, limit: int) -> Sequence[Entry]:
        for pause in chain(_PAUSES, repeat(_PAUSES[-1])):
            try:
                return await self._journal.replay(after=after, limit=limit)
            except JournalError as error:
                self._log.warning("backlog_not_read", reason=error.detail)
                await asyncio.sleep(pause)
        raise AssertionError  # the pauses have no end

    def _own(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
