"""Brings one message to its envelope: refuses what cannot run, and runs what can, again after a crash if that is safe."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hermes.dispatch.confirmations import Confirmations
from hermes.dispatch.live import Live
from hermes.dispatch.once import Once
from hermes.dispatch.outcomes import failed, from_answer, from_failure
from hermes.dispatch.sentences import say
from hermes.host.calls import Call
from hermes.host.failures import CallEnded, Crashed
from hermes.host.host import Host, Target
from hermes.messages import Candidate, Decision, PluginRef, ResultEnvelope
from hermes.observe.metrics import Metrics

_ATTEMPTS = 3
_ANSWER_WITHIN = 600  # seconds a question stays open


@dataclass(frozen=True, slots=True)
class Parts:
    """What an execution works with: `rivals` says what a question is about, `claim` makes it safe that a call begins."""

    host: Host
    confirmations: Confirmations
    once: Once
    rivals: Callable[[Decision], Sequence[Candidate]]
    claim: Callable[[Live], Awaitable[None]]


class Execution:
    """Decides and runs."""

    def __init__(self, parts: Parts, *, result_bytes: int, metrics: Metrics) -> None:
        self._host = parts.host
        self._rivals = parts.rivals
        self._confirmations = parts.confirmations
        self._once = parts.once
        self._claim = parts.claim
        self._result_bytes = result_bytes
        self._ran = metrics.stage_seconds.labels("tool")
        self._last_call = 0

    async def settle(self, live: Live) -> ResultEnvelope:
        """Return what the message came to."""
        decision = live.record.decision
        if decision.outcome == "no_match":
            return _no_match(live)
        if decision.outcome == "clarify":
            return self._question(live)
        target = self._target(live)
        while isinstance(target, Target) and not self._confirmations.given(live, target):
            refusal = await self._confirmations.consent(live, target)
            target = refusal or self._target(live)  # which may be another by now
        return target if isinstance(target, ResultEnvelope) else await self._attempts(live, target)

    def foresee(self, live: Live) -> PluginRef | None:
        """Return the plugin that will run a new message at once, so that keeping it can claim the run as well.

        Only for what may be run again: a claim that comes before the run would make a kill in between look like a
        write that may have taken effect.
        """
        target = self._host.find(live.record.message.intent)
        if target is None or not target.service.repeatable or not self._host.has_room(target):
            return None
        if target.service.intent.confirm is not None:
            return None
        return target.plugin.ref

    def _question(self, live: Live) -> ResultEnvelope:
        options = []
        for number, candidate in enumerate(self._rivals(live.record.decision), 1):
            target = self._host.find(candidate.intent)
            label = target.service.intent.description if target is not None else ""
            options.append({"n": number, "intent": candidate.intent, "label": label or candidate.intent})
        return _ask(live, say("clarify", live.locale), options=options)

    def _target(self, live: Live) -> Target | ResultEnvelope:
        """Return who is to run a message, or why nobody can."""
        intent = live.record.decision.intent
        target = self._host.find(intent)
        if target is None:
            return failed("no_match", say("no_intent", live.locale, intent=intent))
        return self._refusal(live, target) or target

    def _refusal(self, live: Live, target: Target) -> ResultEnvelope | None:
        """Return what is wrong with the parameters of a call, or None if it may run with them."""
        locale = live.locale
        problems = target.service.parameters.problems(live.record.message.payload, locale=locale)
        missing = [problem.field for problem in problems if problem.missing]
        if problems and len(missing) == len(problems) and live.record.decision.outcome == "dispatch":
            return _ask(live, say("missing", locale, names=", ".join(missing)), missing=missing)
        if problems:
            words = "; ".join(problem.message for problem in problems)
            return failed("invalid_payload", say("invalid_payload", locale, problems=words))
        return None

    async def _attempts(self, live: Live, target: Target) -> ResultEnvelope:
        repeatable = target.service.repeatable
        if live.record.attempts >= _ATTEMPTS:  # each of them ended with the daemon
            return failed("plugin_crashed", say("attempts_used", live.locale, count=_ATTEMPTS))
        while True:
            attempt = _Attempt(live, target, self._claim)
            live.calling = True
            try:
                answer = await self._host.run(target, self._call(attempt))
            except Crashed as failure:
                if repeatable and live.record.attempts < _ATTEMPTS:
                    continue
                return self._failure(failure, attempt)
            except CallEnded as failure:
                return self._failure(failure, attempt)
            except asyncio.CancelledError:
                if not live.cancelled:
                    raise
                return _cancelled(attempt)
            else:
                return from_answer(answer, attempt.elapsed_ms(), locale=live.locale)
            finally:
                live.calling = False
                self._measure(attempt)

    def _call(self, attempt: _Attempt) -> Call:
        self._last_call += 1
        live, record = attempt.live, attempt.live.record
        scope = self._once.scope(live, plugin=attempt.target.plugin.manifest.name, call=f"c{self._last_call}")
        return Call(
            id=f"c{self._last_call}",
            message=record.message,
            context={
                "session": {},
                "principal": record.principal,
                "idempotency_key": live.first_id,
                "locale": live.locale,
            },
            timeout=attempt.target.timeout,
            on_started=attempt.start,
            on_progress=live.story.progress,
            on_request=scope.answer,
            on_left=scope.leave,
        )

    def _failure(self, failure: CallEnded, attempt: _Attempt) -> ResultEnvelope:
        return from_failure(
            failure,
            attempt.elapsed_ms(),
            locale=attempt.live.locale,
            writes=attempt.target.service.intent.writes,
            repeatable=attempt.target.service.repeatable,
            limit=self._result_bytes,
        )

    def _measure(self, attempt: _Attempt) -> None:
        if attempt.started_at is not None:
            self._ran.observe(time.perf_counter() - attempt.started_at)


@dataclass(slots=True)
class _Attempt:
    """One try at running a message; `started_at` is of the performance counter, in seconds."""

    live: Live
    target: Target
    claim: Callable[[Live], Awaitable[None]]
    started_at: float | None = None

    async def start(self) -> None:
        """Tell that the tool starts, once the journal knows it: after a kill, what may have run can be told apart."""
        record, plugin = self.live.record, self.target.plugin
        record.status = "running"
        record.attempts += 1
        record.plugin = plugin.ref
        if not self.live.claimed:
            await self.claim(self.live)
        self.live.claimed = False
        self.live.story.set_plugin(plugin.manifest.name)
        self.live.story.tell(
            "TOOL_STARTED", attempt=record.attempts, intent=record.message.intent, plugin=plugin.manifest.name
        )
        self.started_at = time.perf_counter()

    def elapsed_ms(self) -> float:
        """Return the milliseconds since the start, 0 if there was none."""
        return 0.0 if self.started_at is None else round((time.perf_counter() - self.started_at) * 1000, 3)


def _no_match(live: Live) -> ResultEnvelope:
    sentence = say("no_match", live.locale)
    names = [candidate.intent for candidate in live.record.decision.candidates[:3]]
    if names:
        sentence += (" " if live.locale == "en" else "") + say("nearest", live.locale, names=", ".join(names))
    return failed("no_match", sentence)


def _ask(
    live: Live,
    question: str,
    *,
    options: list[dict[str, Any]] | None = None,
    missing: list[str] | None = None,
) -> ResultEnvelope:
    data = {
        "question": question,
        "options": options or [],
        "missing": missing or [],
        "expires_at": time.time() + _ANSWER_WITHIN,
    }
    sentence = say("clarification_needed", live.locale) if options else question
    return failed("clarification_needed", sentence, data=data)


def _cancelled(attempt: _Attempt) -> ResultEnvelope:
    locale = attempt.live.locale
    may_have_run = attempt.target.service.intent.writes and attempt.started_at is not None
    warning = say("may_have_taken_effect", locale) if may_have_run else None
    return failed("cancelled", say("cancelled", locale), warning=warning, elapsed_ms=attempt.elapsed_ms())
