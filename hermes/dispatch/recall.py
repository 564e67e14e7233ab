"""Finds in the journal which question of a session stands open: after a start, and when a message is about to ask.

Nobody waits for it but a message of a session that an earlier process may have left a question in.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import chain, repeat

from hermes.dispatch.asking import ANSWER_WITHIN
from hermes.dispatch.live import Live
from hermes.dispatch.questions import OpenQuestion, Questions, SessionKey, goes_on, question_of
from hermes.dispatch.records import read_record
from hermes.errors import JournalError
from hermes.journal.base import Entry, Journal, Query
from hermes.observe.logs import Logger

_PAGE = 50  # entries read at a time; each may hold a payload as large as a body may be
_FEW = 10  # entries of one session read at a time: most often the newest tells
_PAGES = 200  # read of one session at most: all that plugins have sent in it stands there too
_LOOK_BACK = 86_400.0  # seconds: the order of arrival is not that of the ends, but so long has nothing waited
_PAUSES = (0.05, 0.2, 1.0, 5.0)  # seconds before the journal is read again after it could not be


class Recall:
    """Restores the open questions of earlier processes, and opens those of this one. `now` is the wall clock."""

    def __init__(
        self,
        journal: Journal,
        questions: Questions,
        *,
        log: Logger,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._journal = journal
        self._questions = questions
        self._log = log
        self._now = now
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to restore, in the background."""
        self._task = asyncio.get_running_loop().create_task(self._restore())

    async def stop(self) -> None:
        """Restore nothing any more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def know(self, key: SessionKey) -> None:
        """Return once it is known what an earlier process left open in a session; raises JournalError."""
        if not self._questions.is_settled(key):
            self._questions.restore(key, await self._left_open(key))

    async def ask(self, live: Live) -> None:
        """Open the question that a message has ended with, if it is one and nothing newer stands in its session."""
        question = question_of(live.record, number=live.id)
        if question is None:
            return
        key = (live.owner, live.session_id)
        self._questions.announce(key, live.id)
        try:
            if await self._newest(key, after=live.id) is None:
                self._questions.ask(key, question)
        except JournalError as error:  # an answer that is not understood is better than one that is none
            self._log.warning("question_not_opened", request_id=question.request_id, reason=error.detail)
        finally:
            self._questions.renounce(key, live.id)

    async def _left_open(self, key: SessionKey) -> OpenQuestion | None:
        newest = await self._newest(key)
        return None if newest is None else self._open_question(newest)

    def _open_question(self, entry: Entry) -> OpenQuestion | None:
        try:
            question = question_of(read_record(entry), number=entry.id)
        except ValueError:
            return None
        return question if question is not None and question.expires_at > self._now() else None

    async def _newest(self, key: SessionKey, *, after: int = 0) -> Entry | None:
        """Return the newest message that took the talk of a session further, None if none of a larger id did."""
        query = Query(*key, limit=_FEW)
        for _ in range(_PAGES):
            page = await self._journal.select(query)
            for entry in page:
                if entry.id <= after:
                    return None
                if _goes_on(entry):
                    return entry
            if len(page) < _FEW:
                break
            query = replace(query, before=page[-1].id)
        return None

    async def _restore(self) -> None:
        for pause in chain(_PAUSES, repeat(_PAUSES[-1])):
            try:
                await self._restore_all()
            except JournalError as error:
                self._log.warning("questions_not_read", reason=error.detail)
                await asyncio.sleep(pause)
            else:
                self._questions.settle()
                break

    async def _restore_all(self) -> None:
        """Look at the sessions of all messages that may have asked what is open still."""
        now = self._now()
        query = Query(status="failed", code="clarification_needed", limit=_PAGE)
        while True:
            page = await self._journal.select(query)
            for entry in page:
                ended = entry.finished_at or 0.0
                if ended < now - _LOOK_BACK:
                    return
                if ended > now - ANSWER_WITHIN and self._open_question(entry) is not None:
                    await self.know((entry.owner, entry.session_id))
            if len(page) < _PAGE:
                return
            query = replace(query, before=page[-1].id)


def _goes_on(entry: Entry) -> bool:
    try:
        return goes_on(read_record(entry))
    except ValueError:  # whatever it is, it came
        return True
