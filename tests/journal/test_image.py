"""What a write-ahead log holds is found as SQLite finds it, and behind a damaged place too, where SQLite stops."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hermes.journal._repair import Repair
from hermes.journal.base import Entry
from tests.support.ruins import PAGE, fill, mend, overwrite, read

FRAME = 24 + PAGE  # bytes


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A journal that was copied before its log became part of it."""
    return tmp_path / "copy.db"


@pytest.fixture
def entries(file: Path, tmp_path: Path) -> list[Entry]:
    return fill(tmp_path / "journal.db", 40, into=file)


@pytest.fixture
def log(file: Path, entries: list[Entry]) -> Path:
    return file.with_name("copy.db-wal")


def test_a_log_that_is_whole_is_nothing_wrong(file: Path, entries: list[Entry], log: Path) -> None:
    assert mend(file) == Repair(file)
    assert read(file) == entries


def test_a_commit_that_was_not_finished_is_nothing_wrong(file: Path, log: Path) -> None:
    overwrite(log, log.stat().st_size - 300, 200)
    assert mend(file) == Repair(file)
    with log.open("r+b") as content:
        content.truncate(log.stat().st_size - 2 * FRAME - 100)
    assert mend(file) == Repair(file)
    assert len(read(file)) > 30


def test_what_lies_behind_a_damaged_place_of_a_log_is_saved(
    file: Path, entries: list[Entry], log: Path
) -> None:
    overwrite(log, 32 + 30 * FRAME + 500, 100)
    repair = mend(file)
    assert repair.faults[0] == "its write-ahead log is damaged"
    assert repair.lost[-1] == "what the damaged part of its write-ahead log held"
    assert repair.copy is not None
    assert repair.copy.with_name(repair.copy.name + "-wal").exists()
    found = read(file)
    assert len(found) >= 38
    assert [one for one in entries if one in found] == found
    assert not log.exists()


def test_a_log_without_its_header_is_read_all_the_same(file: Path, entries: list[Entry], log: Path) -> None:
    overwrite(log, 0, 32)
    assert mend(file).lost == ()
    assert read(file) == entries


def test_a_log_beside_an_empty_file_is_all_there_is(file: Path, entries: list[Entry], log: Path) -> None:
    file.write_bytes(b"")
    assert mend(file).faults == ("the file is empty, and its write-ahead log is not",)
    assert read(file) == entries


def test_a_log_of_nothing_but_noise_costs_what_was_in_it_and_no_more(
    file: Path, entries: list[Entry], tmp_path: Path
) -> None:
    whole = tmp_path / "journal.db"
    log = tmp_path / "journal.db-wal"
    log.write_bytes(os.urandom(50_000))
    repair = mend(whole)
    assert (repair.faults, repair.saved) == (("its write-ahead log is damaged",), 40)
    assert repair.lost == ("what the damaged part of its write-ahead log held",)
    assert read(whole) == entries


@pytest.mark.parametrize("headless", [False, True])
def test_pages_of_a_log_that_lie_behind_the_end_of_a_file_that_was_cut_are_found(
    file: Path, tmp_path: Path, *, headless: bool
) -> None:
    entries = fill(file, 300)
    with closing(sqlite3.connect(file, isolation_level=None)) as journal:
        journal.execute("UPDATE messages SET code = 'late' WHERE id > 290")
        for end in ("", "-wal"):
            shutil.copy(f"{file}{end}", f"{tmp_path / 'cut.db'}{end}")
    cut, log = tmp_path / "cut.db", tmp_path / "cut.db-wal"
    whole = file.stat().st_size // PAGE
    assert log.stat().st_size // FRAME < whole / 4
    os.truncate(cut, PAGE)
    if headless:
        overwrite(log, 0, 32)
    assert mend(cut).saved
    found = read(cut)
    late = {one.request_id for one in entries[290:]}
    assert {one.request_id for one in found} >= late
    assert {one.request_id for one in found if one.code == "late"} == late


def test_a_file_that_is_gone_and_whose_log_is_not_is_made_from_the_log(
    file: Path, entries: list[Entry], log: Path
) -> None:
    file.unlink()
    assert mend(file).faults == ("the file is empty, and its write-ahead log is not",)
    assert read(file) == entries
