"""`hermes check --repair`: what is damaged is copied and repaired, and told in lines and in JSON."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.command import Hermes
from tests.conftest import StartDaemon
from tests.support.daemon import furnish, plugin_folder, start
from tests.support.ruins import INDEX, leaves, overwrite_page, root
from tests.support.waiting import until


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a daemon that was killed while a message ran and after forty others had ended."""
    home = furnish(tmp_path_factory.mktemp("killed"), plugins=[plugin_folder("gate")])
    daemon = start(home)
    for number in range(40):
        daemon.accept(intent="gate.read", request_id=f"m{number}", payload={"x": "x" * 2000})
    daemon.accept(intent="gate.read", request_id="waiting", payload={"gate": str(home / "gate")})
    until(
        lambda: daemon.runs("waiting") and len(daemon.get("/v1/messages?status=running").json["items"]) == 1
    )
    daemon.kill()
    return home


@pytest.fixture
def journal(killed: Path, tmp_path: Path) -> Path:
    """The journal in a copy of what that daemon left."""
    shutil.copytree(killed, tmp_path, symlinks=True, dirs_exist_ok=True)
    return tmp_path / "state" / "journal.db"


def settled(journal: Path) -> Path:
    """Have SQLite put the log into the file, so that there are pages to damage."""
    with closing(sqlite3.connect(journal)) as database:
        database.execute("SELECT count(*) FROM messages").fetchall()
    return journal


def test_what_is_whole_is_told_to_be_and_not_touched(lonely: Hermes, journal: Path) -> None:
    before = {path: path.read_bytes() for path in journal.parent.glob("*.db*") if path.suffix != ".db-shm"}
    done = lonely("check", "--repair")
    assert (done.code, done.err) == (0, "")
    assert "state/journal.db: nothing is wrong, nothing was changed" in done.lines
    assert done.lines[-1] == "ok: hermes.yaml; plugins: gate; journal: state/journal.db"
    assert before == {path: path.read_bytes() for path in before}
    assert not list(journal.parent.glob("*damaged*"))


def test_after_a_repair_the_daemon_starts_with_what_was_saved_and_goes_on(
    lonely: Hermes, journal: Path, killed: Path, start_daemon: StartDaemon
) -> None:
    overwrite_page(settled(journal), leaves(journal)[6])
    assert lonely("check").code == 1
    done = lonely("check", "--repair")
    lost = [line.rpartition(" ")[2] for line in done.lines if line.startswith("state/journal.db: lost: ")]
    assert (done.code, done.err) == (1, "")
    assert 0 < len(lost) < 10
    assert f"state/journal.db: repaired; saved: {41 - len(lost)}, lost: {len(lost)}" in done.lines
    (copy,) = journal.parent.glob("journal.db.damaged-*Z")
    assert f"state/journal.db: the damaged file was copied to state/{copy.name}" in done.lines
    assert lonely("check").code == 0

    (killed / "gate").touch()
    daemon = start_daemon()
    kept = {f"m{number}" for number in range(40)} - set(lost)
    until(lambda: daemon.record("waiting")["status"] == "succeeded")
    assert {row["request_id"] for row in daemon.get("/v1/messages?limit=100").json["items"]} == kept | {
        "waiting"
    }
    assert all(daemon.story(one)[-1].event == "TOOL_SUCCEEDED" for one in kept)


def test_a_repair_that_loses_nothing_is_a_success(lonely: Hermes, journal: Path) -> None:
    overwrite_page(settled(journal), root(journal, "by_request"))
    overwrite_page(journal, leaves(journal, INDEX)[0])
    done = lonely("check", "--repair", "--json")
    found = json.loads(done.out)
    repair = next(one for one in found["repairs"] if one["file"] == "state/journal.db")
    assert (done.code, found["ok"], found["problems"]) == (0, True, [])
    assert (repair["saved"], repair["lost"]) == (41, [])
    assert repair["faults"]
    assert repair["copy"].startswith("state/journal.db.damaged-")


def test_a_message_whose_record_makes_no_sense_is_left_out(lonely: Hermes, journal: Path) -> None:
    with closing(sqlite3.connect(journal)) as database, database:
        for name, change in {
            "m1": "record = '{}'",
            "m2": "events = '5'",
            "m3": "record = substr(record, 9)",
        }.items():
            column, _, value = change.partition(" = ")
            database.execute(
                f"UPDATE messages SET {column} = CAST({value} AS BLOB) WHERE request_id = ?", (name,)
            )
    done = lonely("check", "--repair")
    assert done.code == 1
    assert "state/journal.db: repaired; saved: 38, lost: 3" in done.lines
    assert {line for line in done.lines if ": lost: " in line} == {
        f"state/journal.db: lost: {name}" for name in ("m1", "m2", "m3")
    }


def test_the_store_is_repaired_like_the_journal(lonely: Hermes, tmp_path: Path) -> None:
    furnish(tmp_path)
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "store.db").write_text("这不是数据库 " * 500)
    assert lonely("check").code == 1
    done = lonely("check", "--repair")
    assert (done.code, done.lines[-1]) == (1, "state/store.db: repaired; saved: 0, lost: 1")
    assert lonely("check").code == 0


@pytest.mark.parametrize("damage", [lambda _: None, lambda home: (home / "hermes.yaml").write_text("[]")])
def test_where_there_is_nothing_to_repair_nothing_is_made(
    lonely: Hermes, tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    furnish(tmp_path)
    damage(tmp_path)
    lonely("check", "--repair")
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    "harm", [lambda file: os.truncate(file, 0), lambda file: os.truncate(file, 60), Path.unlink]
)
def test_a_journal_of_which_only_the_log_is_left_is_not_opened_but_saved(
    lonely: Hermes, journal: Path, harm: Callable[[Path], object]
) -> None:
    log = journal.with_name("journal.db-wal")
    harm(journal)
    kept = log.read_bytes()
    done = lonely("check")
    assert (done.code, log.read_bytes() == kept) == (1, True)
    assert done.lines[0].startswith(
        "state/journal.db: the journal cannot be read: it is empty, and its write-ahead log is not; stop the daemon"
    )
    refused = lonely("run")
    assert (refused.code != 0, log.read_bytes() == kept) == (True, True)
    assert "is empty and its write-ahead log is not; run hermes check --repair" in refused.err
    done = lonely("check", "--repair")
    assert "state/journal.db: was damaged: the file is empty, and its write-ahead log is not" in done.lines
    assert "state/journal.db: repaired; saved: 41, lost: nothing" in done.lines
    (copied,) = journal.parent.glob("journal.db.damaged-*-wal")
    assert (done.code, copied.read_bytes() == kept) == (0, True)


def test_of_a_link_what_it_leads_to_is_repaired(lonely: Hermes, journal: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    for path in journal.parent.glob("journal.db*"):
        path.rename(disk / path.name)
    journal.symlink_to(disk / "journal.db")
    os.truncate(journal, 0)
    assert lonely("check").code == 1
    done = lonely("check", "--repair")
    assert "state/journal.db: repaired; saved: 41, lost: nothing" in done.lines
    assert any(
        line.startswith("state/journal.db: the damaged file was copied to disk/") for line in done.lines
    )
    assert (done.code, journal.is_symlink(), lonely("check").code) == (0, True, 0)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (os.mkfifo, "journal.db is not a regular file"),
        (lambda file: os.mkfifo(f"{file}-wal"), "journal.db-wal is not a regular file"),
        (Path.mkdir, "journal.db is not a regular file"),
        (lambda file: file.symlink_to("/dev/zero"), "zero is not a regular file"),
        (
            lambda file: file.symlink_to("/nowhere/journal.db"),
            "it is a link to /nowhere/journal.db, and there is no file",
        ),
        (lambda file: file.symlink_to(file), "and there is no file"),
    ],
)
def test_what_is_no_file_is_a_problem_and_not_looked_into(
    lonely: Hermes, tmp_path: Path, make: Callable[[Path], object], reason: str
) -> None:
    furnish(tmp_path)
    (tmp_path / "state").mkdir()
    make(tmp_path / "state" / "journal.db")
    done = lonely("check", "--repair")
    (line,) = done.lines
    assert (done.code, line.endswith(reason)) == (1, True)
    assert line.startswith("state/journal.db: the journal cannot be read: ")
