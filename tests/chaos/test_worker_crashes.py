"""Workers are killed from outside, one after the other under load, and only what ran in them notices."""

from __future__ import annotations

import os
import random
import signal
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
from tests.support.strays import strays
from tests.support.waiting import until

_SOAK = bool(os.environ.get("HERMES_SOAK"))
_CRASHES = 1000 if _SOAK else 100
_WARM = _CRASHES * 3 // 10  # after which nothing is to grow any more
_DESCRIPTORS = 4  # pipes and pidfd of a worker that is just being started, or is kept in reserve
_GROWTH = 16 << 20  # bytes
_SENDERS, _PAUSE = (6, 0.02) if _SOAK else (4, 0.05)
_DECIDING = 0.1  # seconds between two decisions
_MOMENT = 0.05  # seconds


def compose(chance: random.Random) -> dict[str, Any]:
    """Return a message; some have the plugin start a process that nobody ends."""
    message = errand(chance)
    return message | {"payload": message["payload"] | ({"helper": True} if chance.random() < 0.03 else {})}


def workers(daemon: Daemon) -> set[int]:
    return {worker["pid"] for worker in daemon.plugin("ledger")["workers"]}


def crash(daemon: Daemon, chance: random.Random, killed: set[int], *, count: int) -> None:
    """Kill workers until it were so many."""
    while len(killed) < count:
        crash_one(daemon, chance, killed)


def crash_one(daemon: Daemon, chance: random.Random, killed: set[int]) -> None:
    """Kill a worker that takes calls, a moment after it was seen, and take note of it."""
    pid = chance.choice(sorted(until(lambda: workers(daemon) - killed)))
    time.sleep(chance.uniform(0, _MOMENT))
    os.kill(pid, signal.SIGKILL)
    killed.add(pid)


@pytest.mark.timeout(1800 if _SOAK else 120)
def test_whichever_moment_workers_die_at_every_message_ends_and_nothing_is_left_behind(
    start_daemon: StartDaemon,
) -> None:
    seed = os.environ.get("HERMES_SEED", str(random.randrange(10**6)))
    sys.stdout.write(f"HERMES_SEED={seed} makes the same choices again\n")
    chance, killed = random.Random(seed), set[int]()
    daemon = start_daemon({"circuit_breaker": PATIENT}, plugins=["ledger"])
    book, process = Book(daemon), psutil.Process(daemon.pid)
    with listening(book), deciding(book, pause=_DECIDING, seed=seed):
        with sending(book, compose, count=_SENDERS, pause=_PAUSE, seed=seed):
            crash(daemon, chance, killed, count=_WARM)
        settle(daemon, book)
        descriptors, held = process.num_fds(), process.memory_info().rss
        with sending(book, compose, count=_SENDERS, pause=_PAUSE, seed=seed):
            crash(daemon, chance, killed, count=_CRASHES)
        settle(daemon, book)
        grown = process.memory_info().rss - held
        complaints = account(daemon, book)
        sys.stdout.write(f"{figures(daemon, book)}; {grown >> 10} kB more\n")
        assert complaints == [], f"{len(complaints)} of {len(book.sent)} with HERMES_SEED={seed}"
        until(lambda: process.num_fds() <= descriptors + _DESCRIPTORS)
        until(lambda: not strays(daemon))
        assert len(daemon.lines(event="worker_exited")) == len(killed)
        assert len(book.sent) > _CRASHES
        assert grown <= _GROWTH
        daemon.stop()
        assert len(daemon.lines(event="worker_exited")) == len(
            killed
        )  # who leaves when asked to is none of them
