"""A mixed load for a while: what Hermes takes for it, memory and descriptors, stays as it was, and nothing stays unfinished."""

from __future__ import annotations

import os
import random
import sys
import time
from typing import Any

import psutil
import pytest

from tests.conftest import StartDaemon
from tests.support.accounts import account, figures, settle
from tests.support.clerks import deciding
from tests.support.daemon import Daemon
from tests.support.senders import PATIENT, Book, errand, listening, sending
from tests.support.waiting import until

_SOAK = bool(os.environ.get("HERMES_SOAK"))
_SECONDS = 600.0 if _SOAK else 15.0
_WARMUP = 2.0
_GROWTH = 10 << 20  # bytes
_SENDERS, _PAUSE = (6, 0.02) if _SOAK else (3, 0.05)
_DECIDING = 0.1  # seconds between two decisions
_LARGE: dict[str, Any] = {"intent": "lab.big", "payload": {"size": 40_000}}
_MESSAGES: list[dict[str, Any]] = [
    _LARGE,
    {"intent": "lab.big", "payload": {"size": 100_000}},
    {"intent": "lab.progress", "payload": {"lines": 20}},
    {"intent": "lab.raise", "payload": {"reason": "坏了 / broken"}},
    {"intent": "lab.give", "payload": {"what": "nan"}},
    {"intent": "deploy.web", "payload": {"version": "1"}},
    {"intent": "nobody.knows.it"},
    {"intent": "stuck.sleep"},
    {"text": "复述 你好"},
    {"text": "上线 eu"},
    {"text": "天气 weather"},
]
_QUERIES = ("status=failed", "code=plugin_error", "plugin=lab", "session_id=s1", "limit=100")


def compose(chance: random.Random) -> dict[str, Any]:
    """Return a message, every second one for the plugin that keeps book."""
    return errand(chance) if chance.random() < 0.5 else dict(chance.choice(_MESSAGES))


def disturb(daemon: Daemon, chance: random.Random) -> None:
    """Do what else callers do: look around, cancel, ask for what is not there, hang up half-way, and be wrong."""
    slow = daemon.accept("复述", payload={"steps": 20})
    with daemon.stream(f"/v1/messages/{slow}/events") as stream:
        stream.next()
    assert daemon.delete(f"/v1/messages/{slow}").status in {202, 409}
    paths = (
        f"/v1/messages?{chance.choice(_QUERIES)}",
        "/v1/plugins",
        "/metrics",
        "/readyz",
        "/v1/messages/nobody",
    )
    assert [daemon.get(path).status for path in paths] == [200, 200, 200, 200, 404]
    assert daemon.post("/v1/messages", {"texts": "x"}).status == 422
    assert daemon.request("POST", "/v1/messages", body=b"{").status == 415


def largest(daemon: Daemon, chance: random.Random, *, seconds: float) -> int:
    """Disturb for a while and return the most memory that the daemon held, in bytes."""
    process, most = psutil.Process(daemon.pid), 0
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        disturb(daemon, chance)
        most = max(most, process.memory_info().rss)
    return most


@pytest.mark.timeout(1800 if _SOAK else 120)
def test_under_a_mixed_load_memory_and_descriptors_stay_flat_and_everything_ends(
    start_daemon: StartDaemon,
) -> None:
    seed = os.environ.get("HERMES_SEED", str(random.randrange(10**6)))
    sys.stdout.write(f"HERMES_SEED={seed} makes the same choices again\n")
    chance = random.Random(seed)
    daemon = start_daemon({"circuit_breaker": PATIENT}, plugins=["ledger", "lab", "deploy", "stuck", "echo"])
    process, book = psutil.Process(daemon.pid), Book(daemon)
    with listening(book), deciding(book, pause=_DECIDING, seed=seed):
        for _ in range(300):  # the events that are kept for who comes back fill their room
            daemon.send(**_LARGE)
        for query in _QUERIES:  # no list will be longer
            daemon.get(f"/v1/messages?{query}")
        idle = process.num_fds()
        with sending(book, compose, count=_SENDERS, pause=_PAUSE, seed=seed):
            warm = largest(daemon, chance, seconds=_WARMUP)
            grown = largest(daemon, chance, seconds=_SECONDS) - warm
        settle(daemon, book)
        until(lambda: process.num_fds() <= idle + 1)
        assert grown <= _GROWTH
        complaints = account(daemon, book, others=True)
        sys.stdout.write(figures(daemon, book) + "\n")
        assert complaints == [], f"{len(complaints)} of {len(book.sent)} with HERMES_SEED={seed}"
        daemon.stop()
