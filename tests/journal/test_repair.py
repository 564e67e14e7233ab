"""A damaged file is copied, what can be read is saved, and what cannot is named; nothing is touched without need."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hermes.errors import JournalError
from hermes.journal._repair import Repair
from tests.support.disk import no_room
from tests.support.ruins import (
    INDEX,
    PAGE,
    Damage,
    fill,
    leaves,
    mend,
    overwrite,
    overwrite_page,
    read,
    root,
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state" / "journal.db"


@pytest.fixture(autouse=True)
def _folder(file: Path) -> None:
    file.parent.mkdir()


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def copied(repair: Repair) -> Path:
    assert repair.copy is not None
    return repair.copy


def overwrite_rows(file: Path) -> None:
    overwrite_page(file, leaves(file)[9])


def overwrite_many(file: Path) -> None:
    for page in leaves(file)[3:40:6]:
        overwrite_page(file, page)


def overwrite_root(file: Path) -> None:
    overwrite_page(file, root(file, "messages"))


def overwrite_index(file: Path) -> None:
    overwrite_page(file, root(file, "by_request"))
    overwrite_page(file, leaves(file, INDEX)[-1])


def overwrite_header(file: Path) -> None:
    overwrite(file, 0, 100)


def overwrite_first_page(file: Path) -> None:
    overwrite(file, 0)


def cut_off(file: Path) -> None:
    with file.open("r+b") as content:
        content.truncate(file.stat().st_size * 2 // 3 + 100)


@pytest.mark.parametrize(
    ("damage", "harmless"),
    [
        (overwrite_rows, False),
        (overwrite_many, False),
        (cut_off, False),
        (overwrite_root, True),
        (overwrite_index, True),
        (overwrite_header, True),
        (overwrite_first_page, True),
    ],
)
def test_all_that_can_be_read_is_saved_and_the_rest_is_named(
    file: Path, damage: Damage, *, harmless: bool
) -> None:
    entries = fill(file)
    damage(file)
    damaged = file.read_bytes()
    repair = mend(file)
    found = read(file)
    assert repair.faults
    assert copied(repair).read_bytes() == damaged
    assert copied(repair).stat().st_mode & 0o777 == file.stat().st_mode & 0o777 == 0o600
    assert [one for one in entries if one in found] == found
    missing = {one.request_id for one in entries} - {one.request_id for one in found}
    assert (repair.saved, not missing, not repair.lost) == (len(found), harmless, harmless)
    if damage is not cut_off:  # then what tells the names is cut off as well
        assert set(repair.lost) == missing
    assert len(found) > len(entries) / 3
    assert mend(file) == Repair(file)
    assert set(contents(file.parent)) == {"journal.db", copied(repair).name}


def test_a_file_with_nothing_wrong_is_left_as_it_is(file: Path) -> None:
    fill(file)
    before = contents(file.parent)
    assert mend(file) == Repair(file)
    assert contents(file.parent) == before
    assert mend(file.with_name("none.db")) == Repair(file.with_name("none.db"))


@pytest.mark.parametrize("size", [60 * PAGE, 700])
def test_of_a_file_without_any_sense_nothing_is_saved_and_that_is_said(file: Path, size: int) -> None:
    file.write_bytes(b"\xa5" * size)
    repair = mend(file)
    assert (repair.saved, repair.lost) == (0, ("some rows of messages, nothing tells which",))
    assert copied(repair).stat().st_size == size
    assert read(file) == []


def test_an_empty_file_is_an_empty_journal(file: Path) -> None:
    file.touch()
    assert mend(file) == Repair(file)


def test_a_row_that_makes_no_sense_is_left_out_and_named(file: Path) -> None:
    entries = fill(file, 30)
    with closing(sqlite3.connect(file)) as journal, journal:
        journal.execute("UPDATE messages SET record = x'7b' WHERE request_id = ?", (entries[7].request_id,))
    repair = mend(file)
    assert repair.faults == (f"{entries[7].request_id} cannot be read",)
    assert (repair.saved, repair.lost) == (29, (entries[7].request_id,))
    assert read(file) == entries[:7] + entries[8:]


def test_a_damaged_file_of_a_later_version_is_refused_and_left_as_it_is(file: Path) -> None:
    fill(file)
    with closing(sqlite3.connect(file)) as journal:
        journal.execute("PRAGMA user_version = 99")
    overwrite_rows(file)
    before = contents(file.parent)
    with pytest.raises(JournalError, match=r"later version of Hermes \(format 99\)"):
        mend(file)
    assert contents(file.parent) == before


def test_a_repair_for_which_there_is_no_room_leaves_all_as_it_was(file: Path, tmp_path: Path) -> None:
    fill(file)
    overwrite_rows(file)
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "file").write_bytes(bytes(20 * PAGE))
    before = file.read_bytes()
    with (
        no_room(tmp_path / "small"),
        pytest.raises(JournalError, match=r"cannot be repaired: .*it is as it was"),
    ):
        mend(file)
    assert file.read_bytes() == before
    assert not list(file.parent.glob("*.repaired*"))
    assert mend(file).saved


def test_no_copy_takes_the_place_of_another(file: Path) -> None:
    fill(file)
    copies = set()
    for _ in range(3):
        overwrite_index(file)
        copies.add(copied(mend(file)))
    assert len(copies) == 3
    assert all(copy.exists() for copy in copies)


def test_of_a_link_the_file_that_it_leads_to_is_repaired_with_its_log(file: Path, tmp_path: Path) -> None:
    entries = fill(tmp_path / "other.db", 40, into=tmp_path / "real.db")
    file.symlink_to(tmp_path / "real.db")
    os.truncate(file, 0)
    repair = mend(file)
    assert (repair.file, repair.saved, copied(repair).parent) == (file, 40, tmp_path)
    assert read(file) == entries
    assert list(file.parent.iterdir()) == [file]
    assert file.is_symlink()


def test_what_is_no_regular_file_is_refused(file: Path) -> None:
    os.mkfifo(file)
    with pytest.raises(JournalError, match=r"journal\.db is not a regular file"):
        mend(file)


def test_a_later_version_is_seen_in_the_log_too(file: Path, tmp_path: Path) -> None:
    fill(file, 5)
    with closing(sqlite3.connect(file, isolation_level=None)) as journal:
        journal.execute("PRAGMA user_version = 99")
        shutil.copy(f"{file}-wal", tmp_path / "copy.db-wal")
    copy = tmp_path / "copy.db"
    copy.touch()
    with pytest.raises(JournalError, match=r"later version of Hermes \(format 99\)"):
        mend(copy)
    assert set(tmp_path.glob("copy.db*")) == {copy, tmp_path / "copy.db-wal"}
