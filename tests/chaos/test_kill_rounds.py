"""Hermes dies over and over under load, and what was accepted is kept, ends once, and takes effect as often as it may."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.accounts import account, figures, settle
from tests.support.clerks import deciding
from tests.support.daemon import Daemon, furnish, plugin_folder, spawn, start
from tests.support.senders import PATIENT, Book, errand, listening, sending
from tests.support.strays import strays
from tests.support.waiting import until

_SOAK = bool(os.environ.get("HERMES_SOAK"))
_ROUNDS, _LONGEST = (100, 0.8) if _SOAK else (20, 0.5)  # and seconds of load in one
_SENDERS, _PAUSE = 8, 0.01
_DECIDING = 0.15  # seconds between two decisions, so that some calls wait over a kill
_GRACE = 1.0
_ENDINGS = {
    "SIGKILL": 6,
    "SIGKILL while it starts": 2,
    "SIGTERM": 1,
    "SIGTERM twice": 1,
    "SIGTERM, then SIGKILL": 1,
}


def end(process: subprocess.Popen[bytes], how: str, chance: random.Random) -> None:
    """End a daemon and see that it leaves the way it should."""
    if how.startswith("SIGTERM"):
        process.send_signal(signal.SIGTERM)
    if how != "SIGTERM":
        time.sleep(chance.uniform(0, 0.2))
        process.send_signal(signal.SIGTERM if how == "SIGTERM twice" else signal.SIGKILL)
    code = process.wait(20)
    assert code == (-signal.SIGKILL if "SIGKILL" in how and code else 0), how


def one_round(home: Path, book: Book, chance: random.Random) -> None:
    """Start a daemon, let it work for a while, and end it."""
    how = chance.choices([*_ENDINGS], [*_ENDINGS.values()])[0]
    if how == "SIGKILL while it starts":
        end(spawn(home, {}), how, chance)
        return
    daemon = start(home)
    book.client = daemon
    time.sleep(chance.uniform(0, _LONGEST))
    end(daemon.process, how, chance)
    book.client = None
    assert daemon.faults() == []


@pytest.mark.timeout(1800 if _SOAK else 120)
def test_whatever_moment_hermes_dies_at_nothing_is_lost_doubled_or_told_in_two_ways(tmp_path: Path) -> None:
    seed = os.environ.get("HERMES_SEED", str(random.randrange(10**6)))
    sys.stdout.write(f"HERMES_SEED={seed} makes the same choices again\n")
    chance, book = random.Random(seed), Book()
    home = furnish(
        tmp_path,
        {"limits": {"shutdown_grace": _GRACE}, "circuit_breaker": PATIENT},
        [plugin_folder("ledger")],
    )
    with listening(book):
        with (
            deciding(book, pause=_DECIDING, seed=seed),
            sending(book, errand, count=_SENDERS, pause=_PAUSE, seed=seed),
        ):
            for _ in range(_ROUNDS):
                one_round(home, book, chance)
            book.client = last = start(home)
        reckon(last, book, seed)


def test_a_signal_that_comes_when_all_is_done_changes_nothing(tmp_path: Path) -> None:
    daemon = start(furnish(tmp_path))
    daemon.process.send_signal(signal.SIGTERM)
    while daemon.process.poll() is None:
        if daemon.lines(event="stopped"):
            daemon.process.send_signal(signal.SIGTERM)
    assert daemon.process.returncode == 0


def reckon(daemon: Daemon, book: Book, seed: str) -> None:
    """Wait until all has ended, and see that every account is right and no process of an earlier round is left."""
    try:
        settle(daemon, book)
        complaints = account(daemon, book)
        sys.stdout.write(figures(daemon, book) + "\n")
        assert complaints == [], f"{len(complaints)} of {len(book.sent)} with HERMES_SEED={seed}"
        until(lambda: not strays(daemon))
        assert len(book.sent) > _ROUNDS
    finally:
        daemon.stop()
