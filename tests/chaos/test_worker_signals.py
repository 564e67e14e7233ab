"""Workers are stopped, killed and made to crash at random under load; each call is accounted for, and no write runs twice."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import StartDaemon
from tests.support.accounts import account, figures, settle
from tests.support.clerks import deciding
from tests.support.daemon import Daemon, plugin_folder
from tests.support.senders import PATIENT, Book, errand, listening, sending
from tests.support.strays import strays
from tests.support.waiting import until

_SOAK = bool(os.environ.get("HERMES_SOAK"))
_SECONDS = 300.0 if _SOAK else 15.0
_SENDERS, _PAUSE = (12, 0.02) if _SOAK else (8, 0.06)
_DECIDING = 0.1  # seconds between two decisions
_MOMENT = 0.3  # seconds
_TIMEOUT = 3  # seconds of a call, more than any takes whose worker runs
_SIGNALS = {signal.SIGKILL: 3, signal.SIGSEGV: 3, signal.SIGSTOP: 2, signal.SIGTERM: 1}
_GOING_ON = 0.4  # of those that were stopped


def furnished(home: Path) -> None:
    """Put a `ledger` into the plugins of `home` that has more workers with fewer calls in each, and less time for one."""
    folder = shutil.copytree(plugin_folder("ledger"), home / "plugins" / "ledger")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest |= {"workers": {"min": 3, "max": 6}, "concurrency": 4, "timeout": _TIMEOUT}
    (folder / "manifest.json").write_text(json.dumps(manifest))


def workers(daemon: Daemon) -> set[int]:
    return {worker["pid"] for worker in daemon.plugin("ledger")["workers"]}


def disturb(daemon: Daemon, chance: random.Random, hit: dict[int, signal.Signals]) -> None:
    """Send a signal to a worker that is not to end yet; some that are stopped may go on a moment later."""
    pid = chance.choice(sorted(until(lambda: workers(daemon) - hit.keys(), seconds=30)))
    number = chance.choices([*_SIGNALS], [*_SIGNALS.values()])[0]
    time.sleep(chance.uniform(0, _MOMENT))
    with contextlib.suppress(ProcessLookupError):  # one that went on too late is ended by Hermes
        os.kill(pid, number)
        time.sleep(chance.uniform(0, _MOMENT))
        if number is signal.SIGSTOP and chance.random() < _GOING_ON:
            os.kill(pid, signal.SIGCONT)
            return
    hit[pid] = number


@pytest.mark.timeout(1800 if _SOAK else 120)
def test_whatever_happens_to_workers_each_call_ends_once_and_no_write_takes_effect_twice(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    seed = os.environ.get("HERMES_SEED", str(random.randrange(10**6)))
    sys.stdout.write(f"HERMES_SEED={seed} makes the same choices again\n")
    chance, hit = random.Random(seed), dict[int, signal.Signals]()
    furnished(tmp_path)
    daemon = start_daemon({"circuit_breaker": PATIENT})
    book = Book(daemon)
    with listening(book), deciding(book, pause=_DECIDING, seed=seed):
        with sending(book, errand, count=_SENDERS, pause=_PAUSE, seed=seed):
            deadline = time.monotonic() + _SECONDS
            while time.monotonic() < deadline:
                disturb(daemon, chance, hit)
        settle(daemon, book)
        complaints = account(daemon, book, timeouts=True)
        signals = Counter(number.name for number in hit.values())
        sys.stdout.write(f"{dict(signals)}; {figures(daemon, book)}\n")
        assert complaints == [], f"{len(complaints)} of {len(book.sent)} with HERMES_SEED={seed}"
        until(lambda: not workers(daemon) & hit.keys() and not strays(daemon))
        assert len(hit) > _SECONDS / 4
        daemon.stop()
