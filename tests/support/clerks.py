"""Clerks for tests under which Hermes dies: they decide what waits for a confirmation, now and then two of them at once."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from tests.support.client import Client
from tests.support.senders import LOST, Book

_CLERKS = 2
_APPROVING = 0.7
_TOGETHER = 0.4  # of all decisions two are made at once
_PATIENCE = 40.0  # seconds


def waiting(client: Client) -> list[str]:
    """Return the ids of what waits for a confirmation, not all if they are very many; none of a daemon that stops."""
    answer = client.get("/v1/messages?status=awaiting_confirmation&limit=500")
    assert answer.status in {200, 503}, answer.body
    return [one["request_id"] for one in answer.json["items"]] if answer.status == 200 else []


def decide(book: Book, client: Client, request_id: str, *, approve: bool) -> None:
    """Decide one, and take note of the answer; raises LOST."""
    answer = client.post(f"/v1/messages/{request_id}/confirm", {"approve": approve})
    if answer.status == 200:
        book.decided.append((request_id, approve))
        if answer.json["confirmation"]["approved"] is not approve:
            book.complaints.append(f"{request_id}: decided {approve}, but {answer.json}")
    elif answer.status not in {409, 503}:
        book.complaints.append(f"{request_id}: {answer.status} {answer.body[:300]!r} for a decision")


class _Clerk(threading.Thread):
    """One who decides a call after the other."""

    def __init__(self, book: Book, *, pause: float, seed: str, stop: threading.Event) -> None:
        super().__init__(name=f"clerk {seed}", daemon=True)
        self._book = book
        self._random = random.Random(seed)
        self._pause = pause
        self._stop_deciding = stop

    def run(self) -> None:
        with ThreadPoolExecutor(2) as hands:
            while not self._stop_deciding.is_set():
                client = self._book.client
                if client is not None:
                    with contextlib.suppress(*LOST):
                        self._take_one(client, hands)
                self._stop_deciding.wait(self._random.uniform(0, 2 * self._pause))

    def _take_one(self, client: Client, hands: ThreadPoolExecutor) -> None:
        open_ones = waiting(client)
        if not open_ones:
            return
        request_id = self._random.choice(open_ones)
        votes = [self._vote()]
        if self._random.random() < _TOGETHER:
            votes.append(self._vote())
        list(hands.map(lambda vote: decide(self._book, client, request_id, approve=vote), votes))

    def _vote(self) -> bool:
        return self._random.random() < _APPROVING


@contextmanager
def deciding(book: Book, *, pause: float, seed: object) -> Iterator[None]:
    """Let clerks decide what waits, with `pause` seconds between two decisions of each in the mean."""
    stop = threading.Event()
    clerks = [
        _Clerk(book, pause=pause, seed=f"{seed}-clerk-{number}", stop=stop) for number in range(_CLERKS)
    ]
    for clerk in clerks:
        clerk.start()
    try:
        yield
    finally:
        stop.set()
        for clerk in clerks:
            clerk.join(_PATIENCE)
    assert not [clerk for clerk in clerks if clerk.is_alive()], "a clerk still waits for an answer"
