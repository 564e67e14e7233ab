"""Ends a message: makes its envelope, digest and events safe in one commit, and only then tells anyone."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Literal

from hermes.digest.digest import digest, error_digest
from hermes.dispatch.asking import question_digest
from hermes.dispatch.keeping import make_safe
from hermes.dispatch.live import Live
from hermes.dispatch.outcomes import failed
from hermes.dispatch.records import WrittenEnvelope, end_fields, write_envelope
from hermes.dispatch.sentences import say
from hermes.host.manifests.manifest import Summary
from hermes.journal.base import Journal
from hermes.messages import EventType, ResultEnvelope
from hermes.observe.logs import Logger
from hermes.observe.metrics import Metrics


class Ending:
    """Ends messages; results over `inline_bytes` are kept apart, those over `result_bytes` are refused.

    `ended` is awaited when the end of a message is safe, and before anyone is told of it.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        ended: Callable[[Live], Awaitable[None]],
        inline_bytes: int,
        result_bytes: int,
        log: Logger,
        metrics: Metrics,
    ) -> None:
        self._journal = journal
        self._ended = ended
        self._inline_bytes = inline_bytes
        self._result_bytes = result_bytes
        self._log = log
        self._metrics = metrics
        self._seconds = metrics.stage_seconds.labels("finish")

    async def end(self, live: Live, envelope: ResultEnvelope, *, summary: Summary) -> None:
        """Make the end safe, however long the disk takes, then tell it; `summary` says what the digest is made of."""
        started = time.perf_counter()
        live.ending = True
        live.story.close()  # the journal and the listeners must hear the same
        if live.warnings:
            warnings = [envelope.warning, *live.warnings]
            envelope = replace(envelope, warning=" ".join(one for one in warnings if one))
        envelope, written = self._write(live, envelope)
        record = live.record
        record.status = "succeeded" if envelope.error is None else "failed"
        record.envelope = envelope
        question = question_digest(envelope, locale=live.locale) if record.plugin is None else None
        record.digest = question or live.digest or _digest(envelope, summary, locale=live.locale)
        number = live.story.next_number()
        record.finished_at = number / 1e6
        entry = live.to_entry(written)
        await make_safe(self._journal.finish, entry, log=self._log)
        await self._ended(live)
        live.written = entry.record
        event: EventType = "TOOL_SUCCEEDED" if envelope.error is None else "TOOL_FAILED"
        if envelope.error is not None:
            live.story.set_code(envelope.error.code)
        raw = None if written.apart is None else record.links["raw"]
        live.story.tell(event, number=number, **end_fields(written.shown, record.digest, raw=raw))
        live.release()
        self._metrics.messages.labels(entry.code or "succeeded", record.message.source).inc()
        self._seconds.observe(time.perf_counter() - started)

    def _write(self, live: Live, envelope: ResultEnvelope) -> tuple[ResultEnvelope, WrittenEnvelope]:
        try:
            written = write_envelope(envelope, inline_bytes=self._inline_bytes, locale=live.locale)
        except TypeError as problem:  # nested more deeply than can be written
            refused = failed("plugin_error", say("plugin_error", live.locale, reason=str(problem)))
        else:
            if written.data_bytes <= self._result_bytes:
                return envelope, written
            sentence = say("result_too_large", live.locale, limit=self._result_bytes)
            refused = failed("result_too_large", sentence)
        return refused, write_envelope(refused, inline_bytes=self._inline_bytes, locale=live.locale)


def _digest(envelope: ResultEnvelope, summary: Summary, *, locale: Literal["zh", "en"]) -> str:
    if envelope.error is not None:
        return error_digest(envelope.error.code, envelope.error.message)
    return digest(envelope.data, fields=summary.fields, max_chars=summary.max_chars, locale=locale)
