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
from tests.support.daemon import Daemon, left_behind
from tests.support.senders import Book, errand, listening, sending
from tests.support.waiting import until

_SOAK = bool(os.environ.get("HERMES_SOAK"))
_CRASHES = 1000 if _SOAK else 100
_SENDERS, _PAUSE = 6, 0.02
_DECIDING = 0.1  # seconds between two decisions
_MOMENT = 0.05  # seconds
_NEVER = 10**6  # failures in a row: what is tried here is what happens to the calls


def compose(chance: random.Random) -> dict[str, Any]:
    """Return a message; some have the plugin start a process that nobody ends."""
    message = errand(chance)
    return message | {"payload": message["payload"] | ({"helper": True} if chance.random() < 0.03 else {})}


def workers(daemon: Daemon) -> set[int]:
    return {worker["pid"] for worker in daemon.plugin("ledger")["workers"]}


def crash_one(daemon: Daemon, chance: random.Random, killed: set[int]) -> None:
    """Kill a worker that takes calls, a moment after it was seen, and take note of it."""
    pid = chance.choice(sorted(until(lambda: workers(daemon) - killed)))
    time.sleep(chance.uniform(0, _MOMENT))
    os.kill(pid, signal.SIGKILL)
    killed.add(pid)


def strangers(daemon: Daemon) -> list[psutil.Process]:
    """Return what runs or waits to be reaped in the daemon's name and is neither a worker nor started by one that lives."""
    known = workers(daemon)
    children = psutil.Process(daemon.pid).children()
    helpers = {one.pid for child in children for one in child.children(recursive=True)}
    found = [one for one in left_behind(daemon.home) if one.pid not in known | helpers | {daemon.pid}]
    return found + [one for one in children if one.pid not in known]


@pytest.mark.timeout(1800 if _SOAK else 120)
def test_whichever_moment_workers_die_at_every_message_ends_and_nothing_is_left_behind(
    start_daemon: StartDaemon,
) -> None:
    seed = os.environ.get("HERMES_SEED", str(random.randrange(10**6)))
    sys.stdout.write(f"HERMES_SEED={seed} makes the same choices again\n")
    chance, killed = random.Random(seed), set[int]()
    daemon = start_daemon({"circuit_breaker": {"failure_threshold": _NEVER}}, plugins=["ledger"])
    book = Book(daemon)
    process = psutil.Process(daemon.pid)
    with listening(book), deciding(book, pause=_DECIDING, seed=seed):
        with sending(book, compose, count=_SENDERS, pause=_PAUSE, seed=seed):
            crash_one(daemon, chance, killed)
        settle(daemon, book)
        descriptors = process.num_fds()
        with sending(book, compose, count=_SENDERS, pause=_PAUSE, seed=seed):
            while len(killed) <= _CRASHES:
                crash_one(daemon, chance, killed)
        settle(daemon, book)
        complaints = account(daemon, book)
        sys.stdout.write(figures(daemon, book) + "\n")
        assert complaints == [], f"{len(complaints)} of {len(book.sent)} with HERMES_SEED={seed}"
        until(lambda: process.num_fds() <= descriptors + 1)
        until(lambda: not strangers(daemon))
        assert len(daemon.lines(event="worker_exited")) == len(killed)
        assert len(book.sent) > _CRASHES
        daemon.stop()
