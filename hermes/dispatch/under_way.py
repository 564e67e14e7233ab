"""What one sender has under way, also what an earlier process left and nobody has taken up yet. It ends nothing itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from hermes.dispatch.live import Live, LiveTable
from hermes.dispatch.records import read_record
from hermes.errors import Conflict
from hermes.journal.base import Entry, Journal, Query
from hermes.messages import Record, Status
from hermes.values import value

_STATUSES: Final = ("accepted", "awaiting_confirmation", "running")
_MOST: Final = 50  # entries of each status


@value
class Task:
    """A message under way, as it is in this process or as the journal has it."""

    record: Record
    status: Status
    message: Live | Entry


class UnderWay:
    """Finds messages under way, and stops them.

    `current` returns a message as it is in this process, taking it up if an earlier one left it; `cancel` stops it, or
    raises Conflict; `left` says whether there is something that was not taken up.
    """

    def __init__(
        self,
        live: LiveTable,
        journal: Journal,
        *,
        current: Callable[[Live | Entry], Awaitable[Live | Entry]],
        cancel: Callable[[Live], None],
        left: Callable[[], bool],
    ) -> None:
        self._live = live
        self._journal = journal
        self._current = current
        self._cancel = cancel
        self._left = left

    async def of(self, asking: Live) -> list[Task]:
        """Return what who sent `asking` has sent before it and has not ended, oldest first.

        What plugins have sent, and built-in words, are not among it.
        """
        tasks = [
            Task(one.record, one.status, one)
            for one in self._live
            if one.id < asking.id and one.kept and not one.ending and _is_of(one.record, asking)
        ]
        if self._left():
            known = {task.record.message.request_id for task in tasks}
            tasks += [
                task for task in await self._backlog(asking) if task.record.message.request_id not in known
            ]
        return sorted(tasks, key=lambda task: task.message.id)

    async def stop(self, task: Task) -> bool:
        """Stop a message, and say whether it was still to be stopped."""
        message = await self._current(task.message)
        if not isinstance(message, Live):
            return False
        try:
            self._cancel(message)
        except Conflict:
            return False
        return True

    async def _backlog(self, asking: Live) -> list[Task]:
        tasks = []
        for status in _STATUSES:
            query = Query(owner=asking.owner, status=status, before=asking.id, limit=_MOST)
            for entry in await self._journal.select(query):
                if self._live.get((entry.owner, entry.request_id)) is not None:
                    continue
                try:
                    record = read_record(entry)
                except ValueError:  # nobody can go on with it
                    continue
                if _is_of(record, asking):
                    tasks.append(Task(record, record.status, entry))
        return tasks


def _is_of(record: Record, asking: Live) -> bool:
    is_word = record.message.intent.startswith("/")  # no plugin can have such a name
    return record.principal == asking.record.principal and record.parent is None and not is_word
