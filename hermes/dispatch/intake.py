"""Turns a submission into a message: routes it, fills its parameters and opens its record. It keeps and runs nothing."""

from __future__ import annotations

from typing import Any, Literal

from hermes.bus import Bus
from hermes.dispatch.conversation import Resumption
from hermes.dispatch.lineage import inherit
from hermes.dispatch.live import Live
from hermes.dispatch.retries import Retried
from hermes.dispatch.sentences import Locale, locale_of, say
from hermes.dispatch.story import Story
from hermes.dispatch.submission import Submission
from hermes.dispatch.vocabulary import Vocabulary
from hermes.host.host import Host
from hermes.messages import Decision, HermesMessage, Principal, Record, new_id
from hermes.observe.logs import EventLines
from hermes.routing.router import Router


class Intake:
    """Opens messages; `locale` is the language of Hermes' sentences, "auto" for that of each message."""

    def __init__(
        self,
        router: Router,
        host: Host,
        *,
        words: Vocabulary,
        bus: Bus,
        lines: EventLines,
        locale: Literal["auto", "zh", "en"],
    ) -> None:
        self._router = router
        self._host = host
        self._words = words
        self._bus = bus
        self._lines = lines
        self._locale = locale

    def is_word(self, submission: Submission) -> bool:
        """Say whether somebody says a built-in word."""
        return self._word_of(submission) is not None

    def open(
        self,
        submission: Submission,
        principal: Principal,
        *,
        entry_id: int,
        retried: Retried | None = None,
        resumed: Resumption | None = None,
    ) -> Live:
        """Return the message that a submission makes.

        With `retried` it is that one once more, with `resumed` it goes on with the one that has asked.
        """
        before, sent = None if retried is None else retried.record, submission.sent
        decision, payload = self._decided(submission, before, resumed=resumed)
        session_id = submission.session_id or ("" if before is None else before.message.session_id)
        message = HermesMessage(
            request_id=submission.request_id or new_id(),
            session_id=session_id or new_id(),
            intent=decision.intent,
            payload=payload,
            source=submission.source,
            timestamp=submission.received_at,
        )
        record = Record(
            message=message,
            principal=principal,
            decision=decision,
            parent=None if sent is None else sent.parent.record.message.request_id,
            resumes=_resumes(before, resumed, decision=decision),
            retry_of=submission.retry_of,
            metadata=submission.metadata,
            received_at=submission.received_at,
        )
        origin = None if retried is None else retried.origin
        live = self.reopen(record, entry_id=entry_id, fingerprint=submission.fingerprint, origin=origin)
        if sent is not None:
            live.deadline = sent.deadline  # to the instant: the record has it on another clock
        return live

    def reopen(self, record: Record, *, entry_id: int, fingerprint: bytes | None, origin: str | None) -> Live:
        """Return the message of a record that exists already."""
        payload = record.message.payload
        text = payload.get("text")
        live = Live(
            id=entry_id,
            fingerprint=fingerprint,
            record=record,
            locale=self._language(text if isinstance(text, str) else None, payload),
            story=Story(record.message, record.principal.owner, bus=self._bus, lines=self._lines),
            origin=origin,
        )
        if record.parent is not None:
            inherit(live)
        return live

    def acknowledge(self, live: Live) -> str:
        """Return the first sentence for who sent a message: the manifest's, if its parameters are there."""
        intent, payload = live.record.message.intent, live.record.message.payload
        target = self._host.find(intent)
        if target is None:
            return say("ack", live.locale)
        plain = say("ack_intent", live.locale, intent=intent)
        template = target.service.intent.ack.get(live.locale)
        if template is None:
            return plain
        texts = {name: str(value) for name, value in payload.items()}
        try:
            return template.format_map(texts)
        except (KeyError, IndexError, ValueError, AttributeError):
            return plain

    def _decided(
        self, submission: Submission, before: Record | None, *, resumed: Resumption | None
    ) -> tuple[Decision, dict[str, Any]]:
        if resumed is not None:
            return resumed.decision, resumed.payload
        return self._decide(submission) if before is None else self._decide_again(before)

    def _decide_again(self, record: Record) -> tuple[Decision, dict[str, Any]]:
        """Return where a message goes the second time: where it went, or, if that was nowhere, where its text leads now."""
        payload = record.message.payload
        if record.message.intent:
            return record.decision, payload
        text = payload.get("text")
        return self._decide(Submission(text if isinstance(text, str) else "", None, payload, 0.0))

    def _decide(self, submission: Submission) -> tuple[Decision, dict[str, Any]]:
        text, payload = submission.text, submission.payload
        given = self._word_of(submission) if submission.intent is None else submission.intent
        if given is not None:
            decision = Decision("given", given, 1.0)
        else:
            routed = self._router.route(text or "", language=self._language(text, payload))
            decision, text = routed.decision, routed.text
        if text is not None:
            payload = {**payload, "text": text}
        target = self._host.find(decision.intent) if decision.intent else None
        if target is not None:
            payload = target.service.parameters.fill(text, payload)
        return decision, payload

    def _word_of(self, submission: Submission) -> str | None:
        if submission.sent is not None:
            return None
        if submission.intent is not None:
            return submission.intent if self._words.knows(submission.intent) else None
        return self._words.intent_of(submission.text or "")

    def _language(self, text: str | None, payload: dict[str, Any]) -> Locale:
        return locale_of(text, payload, preferred=self._locale)


def _resumes(before: Record | None, resumed: Resumption | None, *, decision: Decision) -> str | None:
    """Return what a message resumes; one that is tried again does so as long as it goes the same way."""
    if resumed is not None:
        return resumed.question.request_id
    return before.resumes if before is not None and decision.outcome == "resumed" else None
