"""A plugin is saved over and over under load, well and badly: each good save is one reload, and no call notices any."""

from __future__ import annotations

import os
import random
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import StartDaemon
from tests.support.accounts import account, all_records, figures, settle
from tests.support.clerks import deciding
from tests.support.daemon import Daemon, plugin_folder
from tests.support.senders import Book, errand, listening, sending
from tests.support.strays import strays
from tests.support.waiting import until

_SOAK = bool(os.environ.get("HERMES_SOAK"))
_RELOADS = 200 if _SOAK else 25
_BAD = 0.2  # of the saves
_SENDERS, _PAUSE = 6, 0.02
_DECIDING = 0.1  # seconds between two decisions
_BROKEN = "\nasync def handle(message, context:\n"


def compose(chance: random.Random) -> dict[str, Any]:
    """Return a message that cannot fail by itself."""
    message = errand(chance)
    payload = {name: value for name, value in message["payload"].items() if name not in {"refused", "unsure"}}
    return message | {"payload": payload}


def save(file: Path, code: str, chance: random.Random) -> None:
    """Write a file as one of many editors would."""
    way = chance.choice(("in place", "in parts", "renamed", "backup"))
    if way == "in place":
        file.write_text(code)
    elif way == "in parts":
        with file.open("w") as opened:
            for part in (code[:100], code[100:]):
                opened.write(part)
                opened.flush()
    else:
        fresh = file.with_name(f".{file.name}.swp" if way == "renamed" else f"{file.name}~")
        fresh.write_text(code)
        fresh.replace(file)


def one_round(daemon: Daemon, file: Path, chance: random.Random, *, number: int) -> int:
    """Save the plugin once for good, before that perhaps one that cannot serve; return how many could not."""
    code = (plugin_folder("ledger") / "plugin.py").read_text() + f"\n# {number}\n"
    bad = chance.random() < _BAD
    if bad:
        save(file, code + _BROKEN, chance)
        error = until(lambda: daemon.plugin("ledger")["last_error"])
        assert (error["file"], "SyntaxError" in error["message"]) == ("plugin.py", True)
    save(file, code, chance)
    row = until(lambda: one if (one := daemon.plugin("ledger"))["reloads"] == number else None)
    assert (row["state"], row["last_error"]) == ("ready", None)
    return bad


@pytest.mark.timeout(1800 if _SOAK else 120)
def test_over_many_saves_under_load_not_one_call_fails_or_runs_twice(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    seed = os.environ.get("HERMES_SEED", str(random.randrange(10**6)))
    sys.stdout.write(f"HERMES_SEED={seed} makes the same choices again\n")
    chance = random.Random(seed)
    file = Path(shutil.copytree(plugin_folder("ledger"), tmp_path / "plugins" / "ledger")) / "plugin.py"
    daemon = start_daemon()
    book = Book(daemon)
    with listening(book), deciding(book, pause=_DECIDING, seed=seed):
        with sending(book, compose, count=_SENDERS, pause=_PAUSE, seed=seed):
            bad = [one_round(daemon, file, chance, number=number) for number in range(1, _RELOADS + 1)]
        settle(daemon, book)
        complaints = account(daemon, book)
        sys.stdout.write(f"{sum(bad)} saves could not serve; {figures(daemon, book)}\n")
        assert complaints == [], f"{len(complaints)} of {len(book.sent)} with HERMES_SEED={seed}"
        failed = Counter((one["envelope"]["error"] or {}).get("code") for one in all_records(daemon))
        assert failed.keys() <= {None, "declined"}, failed
        assert {one["attempts"] for one in all_records(daemon)} <= {0, 1}
        assert len(book.sent) > _RELOADS
        check_reloads(daemon, failures=sum(bad))
        daemon.stop()


def check_reloads(daemon: Daemon, *, failures: int) -> None:
    """See that there was one reload for each good save, none for the others, and that nothing of earlier versions is left."""
    row = until(
        lambda: one if not strays(daemon) and len((one := daemon.plugin("ledger"))["workers"]) < 3 else None
    )
    assert (row["reloads"], len(daemon.lines(event="plugin_reloaded"))) == (_RELOADS, _RELOADS)
    assert len(daemon.lines(event="plugin_refused")) == failures
    assert daemon.lines(event="worker_exited") == []
    until(lambda: len(list((daemon.state_dir / "staged" / "ledger").iterdir())) == 1)
