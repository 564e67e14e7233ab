"""Disks that are full, fail, lose what was written, are locked or damaged, under a real daemon: never a lie, and it heals."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from hermes.messages import TERMINAL
from tests.cli.command import Hermes
from tests.conftest import StartDaemon
from tests.support.client import Answer
from tests.support.daemon import Daemon
from tests.support.faults import Disk, Fault
from tests.support.ruins import leaves, overwrite_page
from tests.support.waiting import until

REASONS: dict[Fault, str] = {
    "full": "database or disk is full",
    "fsync": "disk I/O error",
    "io": "disk I/O error",
    "readonly": "disk I/O error",
    "lose": "disk I/O error",
}


class Load:
    """Messages from many senders at once, and what each of them was told."""

    def __init__(self) -> None:
        self.kept: list[str] = []
        self.refused: list[str] = []

    def send(self, daemon: Daemon, count: int, *, name: str) -> None:
        """Send messages and note which were accepted; the others must have been refused in the right way."""
        with ThreadPoolExecutor(8) as senders:
            ids = [f"{name}-{number}" for number in range(count)]
            for request_id, answer in zip(ids, senders.map(lambda one: _post(daemon, one), ids), strict=True):
                if answer.status == 202:
                    self.kept.append(request_id)
                else:
                    assert answer.problem == (503, "unavailable")
                    assert int(answer.headers["retry-after"]) > 0
                    self.refused.append(request_id)

    def reckon(self, daemon: Daemon) -> None:
        """See that what was accepted has ended, once, and that nothing is known of the rest."""
        for request_id in self.kept:
            await_success(daemon, request_id)
            events = [frame.event for frame in daemon.story(request_id)]
            assert [event in TERMINAL for event in events].count(True) == 1, events
        assert [daemon.get(f"/v1/messages/{one}").status for one in self.refused] == [404] * len(self.refused)


def _post(daemon: Daemon, request_id: str) -> Answer:
    body = {
        "intent": "gate.read",
        "request_id": request_id,
        "payload": {"name": "写 / write", "x": "x" * 3000},
    }
    return daemon.post("/v1/messages", body)


def await_start(daemon: Daemon, request_id: str) -> None:
    until(lambda: daemon.runs(request_id))


def await_success(daemon: Daemon, request_id: str) -> None:
    until(lambda: daemon.record(request_id)["status"] == "succeeded")


def readiness(daemon: Daemon) -> tuple[int, str, list[str]]:
    answer = daemon.get("/readyz")
    return answer.status, answer.json["status"], answer.json["reasons"]


def is_ready(daemon: Daemon) -> bool:
    return readiness(daemon) == (200, "ok", [])


@pytest.fixture
def disk(bad_disk: Callable[[Path], Disk], tmp_path: Path) -> Disk:
    """The disk under the journal of the test's own daemon."""
    return bad_disk(tmp_path / "state" / "journal.db")


@pytest.fixture
def daemon(start_daemon: StartDaemon, disk: Disk) -> Daemon:
    return start_daemon(plugins=["gate"], environ=disk.environ)


def test_invariant_while_the_disk_is_bad_nothing_is_lost_and_nothing_is_told_too_early(
    daemon: Daemon, disk: Disk, tmp_path: Path
) -> None:
    load = Load()
    for fault, words in REASONS.items():
        gate = tmp_path / f"gate-{fault}"
        running = daemon.accept(intent="gate.write", payload={"gate": str(gate)})
        await_start(daemon, running)
        with disk.bad(fault, after=6):
            load.send(daemon, 60, name=fault)
            assert load.refused[-1].startswith(fault)
            status, word, (reason,) = readiness(daemon)
            assert (status, word) == (503, "unavailable")
            assert reason == f"the journal cannot be written: {words}"
            gate.touch()
            daemon.line(event="not_written", request_id=running)
            assert daemon.record(running)["status"] == "running"
        until(lambda: is_ready(daemon))
        await_success(daemon, running)
        load.send(daemon, 8, name=f"after {fault}".replace(" ", "-"))
        assert load.kept[-1] == f"after-{fault}-7"
    load.reckon(daemon)


@pytest.mark.parametrize("fault", ["full", "fsync", "lose"])
def test_invariant_what_was_refused_on_a_bad_disk_is_not_there_after_a_kill_and_the_rest_is(
    start_daemon: StartDaemon, daemon: Daemon, disk: Disk, fault: Fault
) -> None:
    load = Load()
    load.send(daemon, 10, name="before")
    disk.turn(fault, after=5)
    load.send(daemon, 40, name="during")
    assert load.refused
    daemon.kill()
    disk.heal()
    load.reckon(start_daemon(environ=disk.environ))


def test_a_journal_that_another_process_holds_for_long_refuses_and_goes_on_when_it_lets_go(
    daemon: Daemon,
) -> None:
    load = Load()
    load.send(daemon, 3, name="before")
    with closing(sqlite3.connect(daemon.state_dir / "journal.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        load.send(daemon, 1, name="during")
        assert load.refused == ["during-0"]
        assert daemon.get("/v1/messages").status == 200
    until(lambda: is_ready(daemon))
    load.send(daemon, 3, name="after")
    assert len(load.kept) == 6
    load.reckon(daemon)


def test_a_file_that_is_damaged_under_a_running_daemon_is_told_and_can_be_repaired(
    start_daemon: StartDaemon, daemon: Daemon, tmp_path: Path
) -> None:
    load, hermes = Load(), Hermes(tmp_path)
    load.send(daemon, 40, name="before")
    waiting = daemon.accept(intent="gate.read", payload={"gate": str(tmp_path / "gate")})
    await_start(daemon, waiting)
    file = daemon.state_dir / "journal.db"
    with closing(sqlite3.connect(file)) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for page in leaves(file)[5:14:4]:
        overwrite_page(file, page)
    assert daemon.get("/v1/messages?limit=500").problem == (503, "unavailable")
    malformed = "the journal cannot be read: database disk image is malformed"
    assert readiness(daemon) == (503, "unavailable", [malformed])
    load.send(daemon, 8, name="during")
    refused = hermes("check", "--repair")
    assert refused.code == 1
    assert "state: nothing can be repaired here: another Hermes uses " in refused.out
    daemon.kill()

    repair = hermes("check", "--repair", "--json")
    (told, *_) = json.loads(repair.out)["repairs"]
    assert repair.code == 1
    assert set(told["lost"]) < set(load.kept)
    load.kept = [*(one for one in load.kept if one not in told["lost"]), waiting]
    (tmp_path / "gate").touch()
    again = start_daemon()
    assert len(load.kept) == told["saved"]
    load.reckon(again)
    assert again.runs(waiting) == 2
