"""Writes what must not be lost however long the disk takes: nobody is told anything before it is safe."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import chain, repeat

from hermes.errors import JournalError
from hermes.journal.base import Entry
from hermes.observe.logs import Logger

_PAUSES = (0.05, 0.2, 1.0, 5.0)  # seconds between tries; the last one over and over


async def make_safe(write: Callable[[Entry], Awaitable[None]], entry: Entry, *, log: Logger) -> None:
    """Write an entry with the journal's `claim` or `finish`, and try again as long as the journal refuses it."""
    for pause in chain(_PAUSES, repeat(_PAUSES[-1])):
        try:
            await write(entry)
        except JournalError as error:
            log.warning("not_written", request_id=entry.request_id, status=entry.status, reason=error.detail)
            await asyncio.sleep(pause)
        else:
            return
