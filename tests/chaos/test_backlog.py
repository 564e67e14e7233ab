"""Hermes is killed over and over while it works off a large backlog, and each message of it ends once all the same."""

from __future__ import annotations

import contextlib
import json
import os
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from hermes.messages import new_id
from tests.support.accounts import account, figures, settle
from tests.support.clerks import deciding
from tests.support.daemon import Daemon, furnish, plugin_folder, start
from tests.support.senders import PATIENT, Book, Sent, errand, listening, sending

_SOAK = bool(os.environ.get("HERMES_SOAK"))
_BACKLOG, _KILLS, _LONGEST = (20_000, 20, 2.0) if _SOAK else (2_000, 5, 0.8)  # and seconds from start to kill
_HANDS, _PATIENCE = 4, 30.0  # seconds without an answer
_SENDERS, _PAUSE = 2, 0.05
_DECIDING = 0.1  # seconds between two decisions
_STORIES = 500  # that are read at the end


def hand_in(daemon: Daemon, bodies: list[dict[str, Any]]) -> list[Sent]:
    """Send messages that a daemon keeps and does not get done, and kill it."""

    def hand_in_some(first: int) -> None:
        connection = HTTPConnection(daemon.host, daemon.port, timeout=_PATIENCE)
        with contextlib.closing(connection):  # one for all: with one each most of the time would go there
            for body in bodies[first::_HANDS]:
                connection.request(
                    "POST", "/v1/messages", json.dumps(body), {"content-type": "application/json"}
                )
                with connection.getresponse() as answer:
                    assert (answer.status, answer.read()[:1]) == (202, b"{")

    with ThreadPoolExecutor(_HANDS) as hands:
        list(hands.map(hand_in_some, range(_HANDS)))
    daemon.kill()
    return [Sent(body, kept=True) for body in bodies]


def begin(home: Path, book: Book, backlog: list[Sent], *, chance: random.Random) -> int:
    """Let a daemon begin to work the backlog off, ask for some of it meanwhile, and kill it; return what it found at its start."""
    daemon = book.client = start(home)
    deadline = time.monotonic() + chance.uniform(0, _LONGEST)
    while time.monotonic() < deadline:
        assert book.deliver(chance.choice(backlog), daemon, chance.choice(("plain", "wait")))
    daemon.process.kill()
    daemon.process.wait()
    book.client = None
    assert daemon.faults() == []
    return int(daemon.line(event="listening")["recovered"])


@pytest.mark.timeout(1800 if _SOAK else 120)
def test_whatever_moment_hermes_dies_at_while_it_works_off_a_backlog_each_message_of_it_ends_once(
    tmp_path: Path,
) -> None:
    seed = os.environ.get("HERMES_SEED", str(random.randrange(10**6)))
    sys.stdout.write(f"HERMES_SEED={seed} makes the same choices again\n")
    chance, book, gate = random.Random(seed), Book(), tmp_path / "gate"
    bodies = [errand(chance) | {"request_id": new_id()} for _ in range(_BACKLOG)]
    for body in bodies:
        body["payload"]["gate"] = str(gate)
    limits = {"pending": 10 * _BACKLOG, "plugin_queue": 10 * _BACKLOG}
    home = furnish(tmp_path, {"limits": limits, "circuit_breaker": PATIENT}, [plugin_folder("ledger")])
    backlog = hand_in(start(home), bodies)
    gate.touch()
    book.sent += backlog
    with listening(book):
        with (
            deciding(book, pause=_DECIDING, seed=seed),
            sending(book, errand, count=_SENDERS, pause=_PAUSE, seed=seed),
        ):
            found = [begin(home, book, backlog, chance=chance) for _ in range(_KILLS)]
            book.client = last = start(home)
        settle(last, book)
        complaints = account(last, book, stories=_STORIES)
        sys.stdout.write(f"not ended at each start: {found}; {figures(last, book)}\n")
        assert found[0] == _BACKLOG
        assert complaints == [], f"{len(complaints)} of {len(book.sent)} with HERMES_SEED={seed}"
        last.stop()
