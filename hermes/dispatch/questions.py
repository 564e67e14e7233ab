"""The questions that Hermes has asked and nobody has answered yet: at most one a session. It reads and keeps nothing."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from hermes.messages import Record, Source
from hermes.values import value

_MOST = 10_000  # questions open at a time
CONVERSATION: frozenset[Source] = frozenset({"im", "api", "agent"})
"""The sources of a message that somebody stands behind who can be asked back."""
_PASSING = frozenset({"/help", "/status"})  # built-in words that one may say in between
CLOSING = frozenset({"/cancel", "/reset"})
"""Built-in words that close a question themselves, and tell that they have."""

SessionKey = tuple[str, str]


@value
class Option:
    """One of the tools that may be meant, with the number that it was offered under."""

    n: int
    intent: str
    label: str


@value
class OpenQuestion:
    """What a message has asked back: which of `options` is meant, or what the parameters `missing` of `intent` are.

    `request_id` and `number`, the journal's, are of the message that asks; `person` is who it is asked, None for
    whoever else its owner stands for. `expires_at` is Unix seconds.
    """

    request_id: str
    number: int
    text: str
    intent: str
    options: tuple[Option, ...]
    missing: tuple[str, ...]
    expires_at: float
    person: str | None = None


class Questions:
    """Holds open questions by owner and session, at most `limit`: beyond it the oldest is closed, as if it had expired.

    A question is open from when the end of the message that asks is safe until it expires, is answered or closed, or
    any newer message of the session comes. `now` is the wall clock, which `expires_at` is on.
    """

    def __init__(self, *, now: Callable[[], float] = time.time, limit: int = _MOST) -> None:
        self._now = now
        self._limit = limit
        self._open: OrderedDict[SessionKey, OpenQuestion] = OrderedDict()
        self._asking: dict[SessionKey, int] = {}  # numbers of messages that are about to ask
        self._answering: dict[SessionKey, OpenQuestion] = {}  # questions whose answer is being made safe
        self._settled: set[SessionKey] | None = (
            set()
        )  # sessions that an earlier process has no say about any more

    def __len__(self) -> int:
        return len(self._open)

    def get(self, owner: str, session_id: str) -> OpenQuestion | None:
        """Return the question that is open in a session."""
        key = (owner, session_id)
        question = self._open.get(key)
        if question is not None and question.expires_at <= self._now():
            del self._open[key]
            return None
        return question

    def close(self, owner: str, session_id: str) -> bool:
        """Close the question that is open in a session, and say whether there was one."""
        key = (owner, session_id)
        self._settle(key)
        self._asking.pop(key, None)
        was_open = self.get(owner, session_id) is not None
        self._open.pop(key, None)
        return was_open

    def supersede(self, key: SessionKey, number: int) -> None:
        """Close what an older message than `number` asks: the talk has gone on."""
        self._settle(key)
        for older in (self._open.get(key), self._answering.get(key)):
            if older is not None and older.number < number:
                self._open.pop(key, None)
                self._answering.pop(key, None)
        if self._asking.get(key, number) < number:
            del self._asking[key]

    def announce(self, key: SessionKey, number: int) -> None:
        """Take note that a message is about to ask: a newer one that comes before it has asked goes on without it."""
        if self._asking.get(key, 0) < number:
            self._asking[key] = number

    def ask(self, key: SessionKey, question: OpenQuestion) -> None:
        """Open a question that was announced, unless the talk has gone on since."""
        if self._asking.get(key) != question.number:
            return
        del self._asking[key]
        self._settle(key)
        self._put(key, question)

    def renounce(self, key: SessionKey, number: int) -> None:
        """Ask nothing after all."""
        if self._asking.get(key) == number:
            del self._asking[key]

    def take(self, key: SessionKey, question: OpenQuestion) -> bool:
        """Take a question to answer it; only the first who tries gets it, and gives it back if nothing comes of that."""
        if self.get(*key) is not question:
            return False
        self._answering[key] = self._open.pop(key)
        return True

    def give_back(self, key: SessionKey, question: OpenQuestion) -> None:
        """Leave a question that was taken open, unless it was closed meanwhile."""
        if self._answering.get(key) is question:
            del self._answering[key]
            self._put(key, question)

    def is_settled(self, key: SessionKey) -> bool:
        """Say whether nothing that an earlier process left can be open in a session."""
        return self._settled is None or key in self._settled

    def restore(self, key: SessionKey, question: OpenQuestion | None) -> None:
        """Take what an earlier process left open in a session, or that it left nothing, unless something came since."""
        if self.is_settled(key):
            return
        self._settle(key)
        if question is not None:
            self._put(key, question)

    def settle(self) -> None:
        """Take note that everything has been restored that an earlier process left."""
        self._settled = None

    def _settle(self, key: SessionKey) -> None:
        if self._settled is not None:
            self._settled.add(key)

    def _put(self, key: SessionKey, question: OpenQuestion) -> None:
        self._open[key] = question
        self._open.move_to_end(key)
        now = self._now()
        while self._open:
            oldest = next(iter(self._open))
            if self._open[oldest].expires_at > now and len(self._open) <= self._limit:
                break
            del self._open[oldest]


def question_of(record: Record, *, number: int) -> OpenQuestion | None:
    """Return what a record that has ended asks back, None if that is nothing or nobody can answer it."""
    envelope, message = record.envelope, record.message
    if envelope is None or envelope.error is None or envelope.error.code != "clarification_needed":
        return None
    if record.plugin is not None:  # its own question, which it has to see to itself
        return None
    if record.parent is not None or message.source not in CONVERSATION:
        return None
    asked: Any = envelope.data
    try:
        return OpenQuestion(
            request_id=message.request_id,
            number=number,
            text=str(asked["question"]),
            intent=message.intent,
            options=tuple(
                Option(int(one["n"]), str(one["intent"]), str(one["label"])) for one in asked["options"]
            ),
            missing=tuple(str(name) for name in asked["missing"]),
            expires_at=float(asked["expires_at"]),
            person=record.principal.person,
        )
    except (TypeError, KeyError, ValueError):  # too large to be kept in the record, or of another version
        return None


def goes_on(record: Record) -> bool:
    """Say whether a message takes the talk of its session further, so that what was asked before it is closed."""
    return record.parent is None and record.message.intent not in _PASSING
