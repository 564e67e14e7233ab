"""Takes a message for the answer to the question that is open in its session, if it is one, and says what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hermes.auth.policy import Caller
from hermes.dispatch.answers import Chosen, Offer, Refused, Unclear, read_choice
from hermes.dispatch.fillings import Wanted, read_values
from hermes.dispatch.questions import CONVERSATION, OpenQuestion, Questions, SessionKey
from hermes.dispatch.recall import Recall
from hermes.dispatch.records import read_record
from hermes.dispatch.submission import Submission
from hermes.host.host import Host, Target
from hermes.journal.base import Journal
from hermes.messages import Decision, Record
from hermes.observe.logs import Logger
from hermes.routing.router import Router
from hermes.values import value


@value
class Resumption:
    """What an answer makes: a message with this decision and payload that resumes the one that has asked `question`.

    Its intent is "" if nothing is to run: then the candidates of the decision say what is asked again, and there are
    none if the answer was a refusal.
    """

    key: SessionKey
    question: OpenQuestion
    decision: Decision
    payload: dict[str, Any]


class Conversation:
    """Has the open questions, and reads answers. Reading changes nothing: who resumes takes the question first.

    `is_word` says which texts are built-in words: they mean the same always and are no answers.
    """

    def __init__(
        self,
        journal: Journal,
        host: Host,
        *,
        router: Router,
        log: Logger,
        is_word: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._is_word = is_word
        self.questions = Questions()
        self.recall = Recall(journal, self.questions, log=log)
        self._journal = journal
        self._host = host
        self._router = router

    async def read(self, submission: Submission, caller: Caller) -> Resumption | None:
        """Return what a message resumes, None if it is a request of its own; raises JournalError."""
        if submission.sent is not None or submission.session_id is None:
            return None
        if submission.source not in CONVERSATION:
            return None
        key = (caller.principal.owner, submission.session_id)
        await self.recall.know(key)
        question = self.questions.get(*key)
        text = submission.text
        if question is None or text is None or submission.intent is not None or submission.again:
            return None
        if question.person != caller.principal.person or self._is_word(text):
            return None
        entry = await self._journal.find(question.request_id, owner=key[0])
        if entry is None:  # forgotten meanwhile
            return None
        try:
            asked = read_record(entry)
        except ValueError:  # nobody can go on with it
            return None
        read = self._choose if question.options else self._fill
        made = read(text, question, asked=asked)
        if made is None:
            return None
        decision, payload = made
        if decision.intent:
            payload |= {name: one for name, one in submission.payload.items() if name != "text"}
        return Resumption(key, question, decision, payload)

    def _choose(
        self, text: str, question: OpenQuestion, *, asked: Record
    ) -> tuple[Decision, dict[str, Any]] | None:
        reading = read_choice(text, [self._offer(one.intent, one.label) for one in question.options])
        if isinstance(reading, Refused):
            return _refused(text)
        payload = asked.message.payload
        if isinstance(reading, Unclear):
            return _resumed("", asked.decision), dict(payload)
        if not isinstance(reading, Chosen):
            return None
        intent = question.options[reading.n - 1].intent
        target = self._host.find(intent)
        original = payload.get("text")
        if target is not None:
            payload = target.service.parameters.fill(original if isinstance(original, str) else None, payload)
        return _resumed(intent, asked.decision, confidence=1.0), dict(payload)

    def _fill(
        self, text: str, question: OpenQuestion, *, asked: Record
    ) -> tuple[Decision, dict[str, Any]] | None:
        target, payload = self._host.find(question.intent), asked.message.payload
        if target is None:
            return None
        decision = self._router.route(text).decision
        leads = decision.intent if decision.outcome == "dispatch" else ""
        reading = read_values(
            text,
            _wanted(question, target, payload=payload),
            elsewhere=leads not in ("", question.intent),
            restated=leads == question.intent,
        )
        if isinstance(reading, Refused):
            return _refused(text)
        if reading is None:
            return None
        new = {
            name: one
            for name, one in reading.values.items()
            if name in question.missing or name not in payload
        }
        return _resumed(question.intent, asked.decision), {**payload, **new}

    def _offer(self, intent: str, label: str) -> Offer:
        target = self._host.find(intent)
        if target is None:
            return Offer(intent, label)
        return Offer(intent, label, target.plugin.manifest.name, _keywords(target))


def _wanted(question: OpenQuestion, target: Target, *, payload: Mapping[str, Any]) -> Wanted:
    parameters = target.service.parameters

    def find(text: str) -> Mapping[str, Any]:
        return parameters.fill(text, {})

    def fits(name: str, given: Any) -> bool:
        problems = parameters.problems({**payload, name: given})
        return not any(problem.field.partition(".")[0] == name for problem in problems)

    intent = target.service.intent
    return Wanted(
        question.missing,
        parameters.properties,
        find,
        fits,
        _keywords(target),
        careful=intent.writes and intent.confirm is None,
    )


def _keywords(target: Target) -> tuple[str, ...]:
    """Return the keywords that speak for a tool."""
    return tuple(word for word, weight in target.service.intent.keywords.items() if weight > 0)


def _resumed(intent: str, asked: Decision, *, confidence: float | None = None) -> Decision:
    return Decision("resumed", intent, confidence or asked.confidence, asked.candidates)


def _refused(text: str) -> tuple[Decision, dict[str, Any]]:
    return Decision("resumed", "", 1.0), {"text": text}
