"""Brings one message to its envelope: refuses what cannot run, and runs what can, again after a crash if that is safe."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hermes.dispatch import asking
from hermes.dispatch.confirmations import Confirmations
from hermes.dispatch.live import Live
from hermes.dispatch.once import Once
from hermes.dispatch.outcomes import failed, from_answer, from_failure
from hermes.dispatch.questions import CONVERSATION
from hermes.dispatch.requests import Requests
from hermes.dispatch.sends import Sends, SentCall
from hermes.dispatch.sentences import say
from hermes.dispatch.vocabulary import Vocabulary
from hermes.host.host import Host, Target
from hermes.host.manifests.parameters import Problem
from hermes.host.workers.calls import Call
from hermes.host.workers.failures import CallEnded, Crashed, Superseded, TimedOut, Unavailable
from hermes.messages import Candidate, Decision, PluginRef, Record, ResultEnvelope
from hermes.observe.metrics import Metrics

_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Parts:
    """What an execution works with: `rivals` says what a question is about, `claim` makes it safe that a call begins."""

    host: Host
    confirmations: Confirmations
    once: Once
    sends: Sends
    rivals: Callable[[Decision], Sequence[Candidate]]
    claim: Callable[[Live], Awaitable[None]]
    words: Vocabulary


class Execution:
    """Decides and runs; a message that is more than `hops` messages below one from outside is refused."""

    def __init__(self, parts: Parts, *, result_bytes: int, hops: int, metrics: Metrics) -> None:
        self._host = parts.host
        self._rivals = parts.rivals
        self._confirmations = parts.confirmations
        self._once = parts.once
        self._sends = parts.sends
        self._claim = parts.claim
        self._words = parts.words
        self._result_bytes = result_bytes
        self._hops = hops
        self._ran = metrics.stage_seconds.labels("tool")
        self._last_call = 0

    async def settle(self, live: Live) -> ResultEnvelope:
        """Return what the message came to."""
        while True:
            try:
                return await self._settle(live)
            except Superseded:  # another version serves by now, or none: its parameters may be others
                continue

    async def _settle(self, live: Live) -> ResultEnvelope:
        decision = live.record.decision
        if live.parent is None and self._words.knows(decision.intent):
            return await self._words.answer(live)
        if decision.outcome == "no_match":
            return asking.no_match(live, host=self._host)
        if not decision.intent and decision.outcome in ("clarify", "resumed"):
            if not decision.candidates:
                return asking.refused(live)
            return asking.which(live, self._rivals(decision), host=self._host)
        if live.hops > self._hops:
            return failed("loop_detected", say("loop_detected", live.locale, hops=self._hops))
        target = self._target(live)
        while isinstance(target, Target) and not self._confirmations.given(live, target):
            if live.parent is not None:
                intent = target.service.intent.name
                return failed(
                    "confirmation_required", say("confirmation_required", live.locale, intent=intent)
                )
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

    def _target(self, live: Live) -> Target | ResultEnvelope:
        """Return who is to run a message, or why nobody can."""
        intent = live.record.decision.intent
        target = self._host.find(intent)
        if target is None:
            return asking.no_intent(live, host=self._host)
        return self._refusal(live, target) or target

    def _refusal(self, live: Live, target: Target) -> ResultEnvelope | None:
        """Return what is wrong with the parameters of a call, or None if it may run with them."""
        locale, record = live.locale, live.record
        problems = target.service.parameters.problems(record.message.payload, locale=locale)
        if not problems:
            return None
        misfits = [problem for problem in problems if not problem.missing]
        if _can_be_asked(record, misfits):
            names = dict.fromkeys(
                one.field if one.missing else one.field.partition(".")[0] for one in problems
            )
            return asking.missing(live, target, names=list(names), misfits=misfits)
        words = "; ".join(problem.message for problem in problems)
        return failed("invalid_payload", say("invalid_payload", locale, problems=words))

    async def _attempts(self, live: Live, target: Target) -> ResultEnvelope:
        if live.record.attempts >= _ATTEMPTS:  # each of them ended with the daemon
            _warn_of_effects(live, target)
            return failed("plugin_crashed", say("attempts_used", live.locale, count=_ATTEMPTS))
        envelope = None
        while envelope is None:
            attempt = _Attempt(live, target, self._claim)
            envelope = _cancelled(attempt) if live.cancelled else await self._attempt(attempt)
        return envelope

    async def _attempt(self, attempt: _Attempt) -> ResultEnvelope | None:
        """Return what one try came to, None if it is to be followed by another."""
        live = attempt.live
        live.calling = True
        try:
            answer = await self._run(attempt)
        except Superseded:
            raise
        except CallEnded as failure:
            again = isinstance(failure, Crashed) and attempt.target.service.repeatable
            if again and live.record.attempts < _ATTEMPTS and live.seconds_left > 0:
                return None
            return self._failure(failure, attempt)
        except TimeoutError:
            return self._out_of_time(attempt)
        except asyncio.CancelledError:
            if not live.cancelled:
                raise
            return _cancelled(attempt)
        else:
            return from_answer(answer, attempt.elapsed_ms(), locale=live.locale)
        finally:
            live.calling = False
            self._measure(attempt)

    async def _run(self, attempt: _Attempt) -> Any:
        """Return the handler's answer; raises TimeoutError if the deadline of the message comes before that."""
        live = attempt.live
        if live.deadline is None:
            return await self._host.run(attempt.target, self._call(attempt))
        if live.seconds_left <= 0:
            raise TimeoutError
        try:
            async with asyncio.timeout_at(live.deadline) as live.limit:
                return await self._host.run(attempt.target, self._call(attempt))
        finally:
            live.limit = None

    def _call(self, attempt: _Attempt) -> Call:
        self._last_call += 1
        name = f"c{self._last_call}"
        live, record = attempt.live, attempt.live.record
        requests = Requests(
            self._once.scope(live, plugin=attempt.target.plugin.manifest.name, call=name),
            self._sends.scope(live, attempt.deadline),
        )
        return SentCall(
            id=name,
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
            on_request=requests.answer,
            on_left=requests.leave,
            seconds_left=lambda: live.seconds_left,
        )

    def _out_of_time(self, attempt: _Attempt) -> ResultEnvelope:
        """Return the envelope of what had less time than its plugin takes, since it was sent by a call."""
        locale = attempt.live.locale
        if attempt.started_at is None:
            return self._failure(Unavailable(say("no_worker_in_time", locale)), attempt)
        attempt.live.warn(say("time_of_sender", locale))
        return self._failure(TimedOut(float(f"{attempt.elapsed_ms() / 1000:.2g}")), attempt)

    def _failure(self, failure: CallEnded, attempt: _Attempt) -> ResultEnvelope:
        if attempt.started_at is None:
            _warn_of_effects(attempt.live, attempt.target)
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
    """One try at running a message; `started_at` is of the performance counter, in seconds, `ends_at` of the event loop's."""

    live: Live
    target: Target
    claim: Callable[[Live], Awaitable[None]]
    started_at: float | None = None
    ends_at: float = 0.0

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
        self.ends_at = asyncio.get_running_loop().time() + self.target.timeout

    def deadline(self) -> float:
        """Return when the time of the call is over, on the clock of the event loop."""
        return self.ends_at if self.live.deadline is None else min(self.ends_at, self.live.deadline)

    def elapsed_ms(self) -> float:
        """Return the milliseconds since the start, 0 if there was none."""
        return 0.0 if self.started_at is None else round((time.perf_counter() - self.started_at) * 1000, 3)


def _can_be_asked(record: Record, misfits: Sequence[Problem]) -> bool:
    """Say whether parameters are asked for: of who wrote text in a conversation, and of what does not fit once they answer."""
    if record.parent is not None or record.message.source not in CONVERSATION:
        return False
    if record.decision.outcome == "dispatch":
        return not misfits
    return record.decision.outcome == "resumed" and all(problem.field for problem in misfits)


def _cancelled(attempt: _Attempt) -> ResultEnvelope:
    _warn_of_effects(attempt.live, attempt.target)
    return failed("cancelled", say("cancelled", attempt.live.locale), elapsed_ms=attempt.elapsed_ms())


def _warn_of_effects(live: Live, target: Target) -> None:
    """Say of a write that ends without an answer that it may have been done: by its last run or one before that crashed."""
    if live.record.attempts and target.service.intent.writes:
        live.warn(say("may_have_taken_effect", live.locale))
