"""Commits to one SQLite file from one thread, in groups. It knows how to hand over and to answer, not what is written."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from hermes.errors import HermesError
from hermes.values import value

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_T = TypeVar("_T")
_LIMIT = 100_000
_GONE = "its file was removed, replaced or emptied; stop Hermes and see docs/operations.md"


@value
class _Job:
    """What the thread does in one go. `futures` are settled with what `do(given)` returns, or all with its error."""

    do: Callable[[Any], Sequence[Any]]
    given: Any
    futures: list[asyncio.Future[Any]]
    entries: int  # 0: no group, so nobody is told of the commit
    tells: bool  # whether its end says if the file can be written


class GroupCommit(Generic[_Item, _Result]):
    """Writes items from an event loop through a thread of its own, which alone uses the connection.

    Not more than one group is under way; the loop collects the next one meanwhile, so that a slow disk makes larger
    groups and not a longer queue of commits.

    `write` runs in the thread: it keeps a group for good, all of it or nothing, and returns a result for each item.
    What fails reaches who waits as an `error` that begins with `name`. `on_commit` is told, in the thread, the seconds
    that each group took and how many items it held. More than `limit` items are not collected. What was written to a file
    that has been removed, replaced or emptied meanwhile was not written.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        write: Callable[[Sequence[_Item]], Sequence[_Result]],
        *,
        name: str,
        error: Callable[[str], HermesError],
        on_commit: Callable[[float, int], None] | None = None,
        limit: int = _LIMIT,
    ) -> None:
        self._file = Path(connection.execute("PRAGMA database_list").fetchone()[2])
        self._identity = _identity(self._file)
        self._connection = connection
        self._write = write
        self._name = name
        self._error = error
        self._on_commit = on_commit
        self._limit = limit
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[_Job | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=f"{name} writer", daemon=True)
        self._items: list[_Item] = []
        self._futures: list[asyncio.Future[_Result]] = []
        self._jobs: deque[_Job] = deque()  # one after each group
        self._probe: _Job | None = None  # collected, not handed over
        self._busy = False
        self._awake = False  # busy, or to be at the end of this round of the loop
        self._group_is_next = True
        self._idle = asyncio.Event()
        self._idle.set()
        self._stopped = False
        self._trouble: str | None = None

    @property
    def trouble(self) -> str | None:
        """Why the last commit failed, or the next one will; None if nothing is known to be wrong."""
        if self._trouble is None and _identity(self._file) != self._identity:
            return f"{self._name} cannot be written: {_GONE}"
        return self._trouble

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    async def stop(self) -> None:
        """Write what was handed in, then end the thread and close the connection."""
        self._stopped = True
        await self._idle.wait()
        self._queue.put(None)
        await self._loop.run_in_executor(None, self._thread.join)

    def put(self, item: _Item) -> asyncio.Future[_Result]:
        """Hand in an item; the future gives its result once it is safe, or raises an `error` if it was not written."""
        future: asyncio.Future[_Result] = self._loop.create_future()
        if self._stopped or len(self._items) >= self._limit:
            return self._refuse(future)
        self._items.append(item)
        self._futures.append(future)
        if not self._awake:
            self._wake()
        return future

    def run(self, work: Callable[[sqlite3.Connection], _T]) -> asyncio.Future[_T]:
        """Run `work` in the thread, between two groups and in a transaction of its own; the future gives what it returns.

        If it raises, its changes are undone and the future raises an `error`.
        """
        future: asyncio.Future[_T] = self._loop.create_future()
        if self._stopped or len(self._jobs) >= self._limit:
            return self._refuse(future)
        self._add(_Job(self._work, work, [future], 0, tells=False))
        return future

    def probe(self) -> asyncio.Future[None]:
        """Try a commit that changes nothing; the future raises an `error` if it fails, and `trouble` says why."""
        future: asyncio.Future[None] = self._loop.create_future()
        if self._stopped or (self._probe is not None and len(self._probe.futures) >= self._limit):
            return self._refuse(future)
        if self._probe is None:
            futures: list[asyncio.Future[Any]] = []
            self._probe = _Job(self._try, futures, futures, 0, tells=True)
            self._add(self._probe)
        self._probe.futures.append(future)
        return future

    def _refuse(self, future: asyncio.Future[_T]) -> asyncio.Future[_T]:
        reason = "is closed" if self._stopped else f"cannot keep up: {self._limit} entries are waiting"
        future.set_exception(self._error(f"{self._name} {reason}"))
        return future

    def _add(self, job: _Job) -> None:
        self._jobs.append(job)
        if not self._awake:
            self._wake()

    def _wake(self) -> None:
        # At the end of this round of the loop: others who arrive in the same round share the commit.
        self._loop.call_soon(self._hand_over)
        self._awake = True
        self._idle.clear()

    def _hand_over(self) -> None:
        if self._items and (self._group_is_next or not self._jobs):
            items, self._items = self._items, []
            futures, self._futures = self._futures, []
            job = _Job(self._write, items, futures, len(items), tells=True)
            self._group_is_next = False
        elif self._jobs:
            job = self._jobs.popleft()
            self._group_is_next = True
            if job is self._probe:
                self._probe = None
        else:
            self._busy = self._awake = False
            return
        self._busy = True
        self._queue.put(job)

    def _settle(self, job: _Job, outcome: Sequence[Any] | Exception) -> None:
        """Tell who waits for a job what came of it."""
        self._hand_over()
        reason = f"{self._name} cannot be written: {outcome}" if isinstance(outcome, Exception) else None
        if job.tells:
            self._trouble = reason
        if isinstance(outcome, Exception):
            for future in job.futures:
                if not future.done():
                    future.set_exception(self._error(str(reason)))
        else:
            for future, result in zip(job.futures, outcome, strict=True):
                if not future.done():
                    future.set_result(result)
        if not self._awake:
            self._idle.set()

    # From here on in the thread.

    def _run(self) -> None:
        while (job := self._queue.get()) is not None:
            outcome: Sequence[Any] | Exception
            started = time.perf_counter()
            try:
                outcome = job.do(job.given)
                if _identity(self._file) != self._identity:
                    outcome = sqlite3.OperationalError(_GONE)
            except Exception as problem:  # noqa: BLE001 - the thread's wall: who waits would wait for ever
                outcome = problem
                if getattr(problem, "sqlite_errorname", "").startswith("SQLITE_IOERR"):
                    self._write_over()
            else:
                if job.entries and self._on_commit is not None:
                    self._on_commit(time.perf_counter() - started, job.entries)
            self._loop.call_soon_threadsafe(self._settle, job, outcome)
        self._connection.close()

    def _work(self, work: Callable[[sqlite3.Connection], _T]) -> Sequence[_T]:
        with transaction(self._connection):
            return [work(self._connection)]

    def _write_over(self) -> None:
        """Commit something else over what was written and could not be made safe.

        SQLite has undone it, but it lies whole in the log: after a kill the next start would take it for committed, and
        what was refused would be there.
        """
        with contextlib.suppress(sqlite3.Error):
            self._try(())

    def _try(self, waiting: Sequence[object]) -> Sequence[None]:
        with transaction(self._connection):
            self._connection.execute("CREATE TABLE probe (filling)")
            self._connection.execute("INSERT INTO probe VALUES (zeroblob(65536))")  # room for real entries
            self._connection.execute("DROP TABLE probe")
        return [None] * len(waiting)


def _identity(file: Path) -> tuple[int, int] | None:
    """Return what tells a file from one that has taken its name; None if it is gone or empty."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if found.st_size else None


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Do what is inside in one transaction, which is undone if it raises. The connection commits nothing by itself."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):  # it may have been rolled back by the error itself
            connection.execute("ROLLBACK")
        raise
