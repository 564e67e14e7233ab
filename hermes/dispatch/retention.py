"""Forgets messages that ended long ago, or that take more room than there is to be; in small steps, beside all else."""

from __future__ import annotations

import asyncio
import math
import time

from hermes.errors import JournalError
from hermes.journal.base import Journal
from hermes.observe.logs import Logger
from hermes.observe.metrics import Metrics

_STEP = 100  # entries looked at a step
_BREATH = 0.02  # seconds between two steps, for everybody else's commits
_EVERY = 60.0  # seconds between two rounds


class Retention:
    """Removes what ended and was received more than `max_age` seconds ago, then the oldest while over `max_bytes`.

    What has not ended stays, however old.
    """

    def __init__(
        self, journal: Journal, *, max_age: float, max_bytes: int, log: Logger, metrics: Metrics
    ) -> None:
        self._journal = journal
        self._max_age = max_age
        self._max_bytes = max_bytes
        self._log = log
        self._metrics = metrics

    async def run(self) -> None:
        """Keep to the limits until cancelled."""
        while True:
            try:
                await self.sweep()
            except JournalError as error:
                self._log.warning("retention_failed", reason=error.detail)
            await asyncio.sleep(_EVERY)

    async def sweep(self) -> int:
        """Go through the journal once and return how many messages were removed; raises JournalError."""
        removed = await self._trim(time.time() - self._max_age, down_to=0)
        if await self._journal.size() > self._max_bytes:
            removed += await self._trim(math.inf, down_to=self._max_bytes)
        if removed:
            self._log.info("messages_removed", count=removed)
        return removed

    async def _trim(self, received_before: float, *, down_to: int) -> int:
        """Remove step by step, with `down_to` until the journal is that small."""
        removed, after = 0, 0
        while True:
            step = await self._journal.trim(received_before=received_before, after=after, limit=_STEP)
            removed += step.removed
            self._metrics.messages_removed.inc(step.removed)
            if step.after is None or (down_to and await self._journal.size() <= down_to):
                return removed
            after = step.after
            await asyncio.sleep(_BREATH)
