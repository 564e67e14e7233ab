"""Tables of any kind are taken over, by their columns, and a row that is missing is called by its key."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hermes.journal._image import put_together, read_log
from hermes.journal._salvage import Salvage, salvage
from tests.support.ruins import INDEX, PAGE, ROWS, leaves, overwrite_page

VALUES = [(f"键{number:04}", b"x" * (number * 11 % 900), number) for number in range(300)]


def take_all(_table: str, _row: Mapping[str, Any]) -> bool:
    return True


def make(file: Path, schema: str) -> Path:
    with closing(sqlite3.connect(file)) as database, database:
        database.execute(f"PRAGMA page_size = {PAGE}")
        database.execute(schema)
        database.executemany("INSERT INTO kept (key, value, version) VALUES (?, ?, ?)", VALUES)
    return file


@pytest.fixture
def whole() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        yield database


def save(file: Path, whole: sqlite3.Connection, schema: str) -> Salvage:
    """Salvage what is in a damaged file into one of this schema; the file stays as it is."""
    image = file.with_suffix(".image")
    put_together(file, read_log(file), into=image)
    before = image.read_bytes()
    whole.execute(schema)
    result = salvage(image, whole, readable=take_all)
    assert image.read_bytes() == before
    return result


def kept(whole: sqlite3.Connection) -> list[tuple[Any, ...]]:
    return whole.execute("SELECT key, value, version FROM kept ORDER BY key").fetchall()


KEYED = "CREATE TABLE kept (key TEXT PRIMARY KEY, value BLOB, version INTEGER)"
UNNUMBERED = KEYED + " WITHOUT ROWID"
NUMBERED = "CREATE TABLE kept (key TEXT, value BLOB, version INTEGER PRIMARY KEY)"
PLAIN = "CREATE TABLE kept (key TEXT, value BLOB, version INTEGER)"
UNTOLD = "some rows of kept, nothing tells which"


@pytest.mark.parametrize("schema", [KEYED, UNNUMBERED, NUMBERED, PLAIN])
def test_all_rows_of_a_table_of_any_kind_are_taken_over(
    tmp_path: Path, whole: sqlite3.Connection, schema: str
) -> None:
    result = save(make(tmp_path / "file", schema), whole, schema)
    assert (result.saved, list(result.lost), kept(whole)) == (300, [], VALUES)


@pytest.mark.parametrize(
    ("schema", "kind", "named"),
    [(KEYED, ROWS, True), (UNNUMBERED, INDEX, False), (NUMBERED, ROWS, False), (PLAIN, ROWS, False)],
)
def test_rows_around_a_damaged_page_are_taken_over(
    tmp_path: Path, whole: sqlite3.Connection, schema: str, kind: int, *, named: bool
) -> None:
    file = make(tmp_path / "file", schema)
    overwrite_page(file, leaves(file, kind)[4])
    result = save(file, whole, schema)
    missing = [value[0] for value in VALUES if value not in kept(whole)]
    assert 0 < len(missing) < 40
    assert result.saved == 300 - len(missing)
    assert list(result.lost) == (missing if named else [UNTOLD])


def test_what_was_removed_does_not_come_back(tmp_path: Path, whole: sqlite3.Connection) -> None:
    file = make(tmp_path / "file", KEYED)
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("PRAGMA secure_delete = 0")
        database.execute("DELETE FROM kept WHERE key < ?", (VALUES[150][0],))
    overwrite_page(file, 2)  # where the table begins
    result = save(file, whole, KEYED)
    assert (list(result.lost), kept(whole)) == ([], VALUES[150:])


def test_columns_that_only_one_side_knows_are_left_as_they_are(
    tmp_path: Path, whole: sqlite3.Connection
) -> None:
    file = make(tmp_path / "file", KEYED.replace("version INTEGER", "version INTEGER, old TEXT"))
    result = save(file, whole, KEYED.replace("version INTEGER", "version INTEGER, new TEXT DEFAULT 'x'"))
    assert (result.saved, list(result.lost), kept(whole)) == (300, [], VALUES)
    assert whole.execute("SELECT DISTINCT new FROM kept").fetchall() == [("x",)]
