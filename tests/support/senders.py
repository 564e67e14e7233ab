"""Senders for tests under which Hermes dies: they keep a book of what they were told, and try again what failed or was lost."""

from __future__ import annotations

import contextlib
import random
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any

from hermes.messages import TERMINAL, new_id
from tests.support.client import Answer, Client, Frame, Stream

_PAUSE = 0.01  # seconds
_INSISTING = 0.6  # of those whose connection broke
_RETRYING = 0.25  # of what is sent, as soon as something has failed
_REMEMBERED = 50  # failures that somebody may try again
_PATIENCE = 40.0  # seconds for the last answer
_INTENTS = ("ledger.read", "ledger.write", "ledger.repeat", "ledger.once", "ledger.once.repeat")
_ENDED = frozenset({"succeeded", "failed"})
LOST = (OSError, HTTPException)
"""What a caller sees of a daemon that dies."""
PATIENT = {"failure_threshold": 10**6}
"""The `circuit_breaker` for errands: some go wrong on purpose, and a row of them is no reason to pause their plugin."""

Compose = Callable[[random.Random], dict[str, Any]]
"""Returns the body of a new message, but for its request_id."""


@dataclass(eq=False, slots=True)
class Sent:
    """One message as its sender knows it: whether Hermes said that it is kept, and every end that it was told.

    `refused` says that it is a retry which came while another one was under way.
    """

    body: dict[str, Any]
    kept: bool = False
    refused: bool = False
    records: list[dict[str, Any]] = field(default_factory=list)
    ends: list[dict[str, Any]] = field(default_factory=list)

    @property
    def request_id(self) -> str:
        return str(self.body["request_id"])


@dataclass(eq=False, slots=True)
class Book:
    """What all senders together know. `client` calls the daemon of the moment, None while it is down; once `closed` nobody insists.

    `ends` and `questions` are what the listener was told of how messages ended, and of what is to be confirmed.
    `failed` are request_ids of what was told to have failed of late, not cancelled, and may be tried again by anyone. `decided` has,
    for each answer of Hermes that a call is decided now, its request_id and whether it was approved.
    """

    client: Client | None = None
    sent: list[Sent] = field(default_factory=list)
    ends: list[dict[str, Any]] = field(default_factory=list)
    questions: list[dict[str, Any]] = field(default_factory=list)
    failed: deque[str] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    decided: list[tuple[str, bool]] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    closed: bool = False

    def deliver(self, sent: Sent, client: Client, way: str) -> bool:
        """Send a message one way, `plain`, `wait` or `stream`; say whether Hermes has it. Raises LOST."""
        if way == "stream":
            with client.post_stream(sent.body) as stream:
                return self._follow(sent, stream)
        answer = client.post("/v1/messages" + ("?wait=10" if way == "wait" else ""), sent.body)
        return self._take(sent, answer)

    def watch(self, sent: Sent, client: Client) -> None:
        """Follow the story of a message that was sent before; raises LOST."""
        with client.stream(f"/v1/messages/{sent.request_id}/events") as stream:
            if stream.status == 200:
                self._follow(sent, stream)

    def _take(self, sent: Sent, answer: Answer) -> bool:
        if answer.status in {429, 503}:
            return False
        if answer.status == 409 and _may_be_refused(sent):
            sent.refused = True
            return True
        if answer.status not in {200, 202}:
            self.complaints.append(f"{sent.request_id}: {answer.status} {answer.body[:300]!r}")
            return True
        sent.kept = True
        if answer.status == 200 and answer.json["status"] in _ENDED:
            sent.records.append(answer.json)
        return True

    def _follow(self, sent: Sent, stream: Stream) -> bool:
        if stream.status in {429, 503}:
            return False
        if stream.status == 409 and _may_be_refused(sent):
            sent.refused = True
            return True
        if stream.status != 200:
            self.complaints.append(f"{sent.request_id}: {stream.status} for a stream")
            return True
        seen: list[Frame] = []
        for frame in stream:
            if frame.event == "stream":  # Hermes stops
                return False
            sent.kept = True
            seen.append(frame)
            if frame.event in TERMINAL:
                sent.ends.append(frame.data)
        self.complaints += gaps(seen)
        return bool(seen) and seen[-1].event in TERMINAL


def gaps(story: Sequence[Frame]) -> list[str]:
    """Return a complaint if what one stream told has gaps, or goes on after the end."""
    told = [(frame.data["seq"], frame.event) for frame in story]
    numbers = [number for number, _ in told]
    whole = numbers == list(range(1, len(told) + 1))
    over = any(event in TERMINAL for _, event in told[:-1])
    return [] if whole and not over else [f"{story[0].data['request_id']}: was told {told}"]


def asks(frame: Frame) -> bool:
    """Say whether an event asks for a confirmation."""
    return frame.event == "PROGRESS" and frame.data.get("stage") == "awaiting_confirmation"


def _may_be_refused(sent: Sent) -> bool:
    """Say whether it may be a retry that comes too early: what was tried again has failed, so nothing else is wrong with it."""
    return "retry_of" in sent.body and not sent.kept


def errand(chance: random.Random) -> dict[str, Any]:
    """Return a message for the plugin `ledger`, which it does mostly at once and at times slowly.

    It reads, writes, writes repeatably or writes once; some writes have to be confirmed by somebody else first, and some
    of those that are done once go wrong.
    """
    slow = {"before": chance.uniform(0, 0.4), "after": chance.uniform(0, 0.4)}
    wrong = {"refused": 0.3, "unsure": 0.3}
    payload = {
        "name": chance.choice(("账", "entry")),
        **(slow if chance.random() < 0.2 else {}),
        **(wrong if chance.random() < 0.3 else {}),
    }
    session = {"session_id": f"s{chance.randrange(8)}"} if chance.random() < 0.3 else {}
    return {
        "intent": chance.choice(_INTENTS),
        "payload": payload,
        "approve": chance.random() < 0.6,
        **session,
    }


def once_more(book: Book, chance: random.Random) -> dict[str, Any] | None:
    """Return a message that tries again what has failed, None if this is not the moment."""
    if not book.failed or chance.random() >= _RETRYING:
        return None
    return {"retry_of": chance.choice(book.failed), "approve": chance.random() < 0.6}


class _Sender(threading.Thread):
    """One who sends a message after the other; some go on after a broken connection, some leave it at that."""

    def __init__(
        self, book: Book, compose: Compose, *, pause: float, seed: str, stop: threading.Event
    ) -> None:
        super().__init__(name=f"sender {seed}", daemon=True)
        self._book = book
        self._compose = compose
        self._random = random.Random(seed)
        self._pause = pause
        self._stop_sending = stop

    def run(self) -> None:
        while not self._stop_sending.is_set():
            body = once_more(self._book, self._random) or self._compose(self._random)
            sent = Sent(body | {"request_id": new_id()})
            self._book.sent.append(sent)
            insists = self._random.random() < _INSISTING
            while not self._deliver(sent) and insists and not self._book.closed:
                self._stop_sending.wait(_PAUSE)
            self._stop_sending.wait(self._random.uniform(0, 2 * self._pause))

    def _deliver(self, sent: Sent) -> bool:
        client = self._book.client
        if client is None:
            return False
        try:
            if sent.kept and self._random.random() < 0.5:
                self._book.watch(sent, client)
                return True
            return self._book.deliver(sent, client, self._random.choice(("plain", "wait", "stream")))
        except LOST:
            return False


class _Listener(threading.Thread):
    """One who listens to all messages, and comes back with the last id after every break."""

    def __init__(self, book: Book, *, stop: threading.Event) -> None:
        super().__init__(name="listener", daemon=True)
        self._book = book
        self._stop_listening = stop
        self._last: dict[str, str] = {}

    def run(self) -> None:
        while not self._stop_listening.is_set():
            client = self._book.client
            if client is not None:
                with contextlib.suppress(*LOST):
                    self._listen(client)
            self._stop_listening.wait(_PAUSE)

    def _listen(self, client: Client) -> None:
        with client.stream("/v1/events", **self._last) as stream:
            for frame in stream:
                if frame.id is not None:
                    self._last = {"last_event_id": frame.id}
                if frame.event in TERMINAL:
                    self._book.ends.append(frame.data)
                if asks(frame):
                    self._book.questions.append(frame.data)
                if frame.event == "TOOL_FAILED" and frame.data["envelope"]["error"]["code"] != "cancelled":
                    self._book.failed.append(frame.data["request_id"])


@contextmanager
def sending(book: Book, compose: Compose, *, count: int, pause: float, seed: object) -> Iterator[None]:
    """Let `count` senders send, with `pause` seconds between two messages in the mean.

    At the end each gets the answer it waits for, so that a daemon has to be there by then.
    """
    stop = threading.Event()
    senders = [
        _Sender(book, compose, pause=pause, seed=f"{seed}-{number}", stop=stop) for number in range(count)
    ]
    for sender in senders:
        sender.start()
    try:
        yield
    except BaseException:
        book.closed = True
        raise
    finally:
        stop.set()
        for sender in senders:
            sender.join(_PATIENCE)
    assert not [sender for sender in senders if sender.is_alive()], "a sender still waits for its answer"


@contextmanager
def listening(book: Book) -> Iterator[None]:
    """Have one listen to all messages; the last daemon has to stop before this ends."""
    stop = threading.Event()
    listener = _Listener(book, stop=stop)
    listener.start()
    try:
        yield
    finally:
        stop.set()
    listener.join(_PATIENCE)
