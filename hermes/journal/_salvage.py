"""Takes over every row of a damaged SQLite file that can be read into a whole one. It knows tables, not what they mean."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hermes.errors import JournalError
from hermes.journal._image import each_leaf
from hermes.sqlite_file import beside, has_only_its_log, real

Row = tuple[Any, ...]
Readable = Callable[[str, Mapping[str, Any]], bool]
"""Says whether a row, given with the name of its table, makes sense to those who wrote it."""

_BUSY = 5.0  # seconds to wait for another process that holds the file
_NUMBER = "rowid"
_DAMAGE = (sqlite3.Error, OverflowError, UnicodeError)  # what reading may raise
_REFUSED = (
    sqlite3.IntegrityError,
    sqlite3.DataError,
    sqlite3.InterfaceError,
    OverflowError,
    UnicodeError,
)  # a row


@dataclass(slots=True)
class Salvage:
    """How many rows were taken over, and what is missing: each row by its name, or what is known of it."""

    saved: int = 0
    lost: dict[str, None] = field(default_factory=dict)

    def lose(self, name: str) -> None:
        """Note a row that is missing; once is enough."""
        self.lost[name] = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a file; rows that are `numbered` have their number as the first column.

    `key` are the columns that tell the rows apart, and `index` is the index that has them, "" if it is the number.
    """

    name: str
    columns: tuple[str, ...]
    numbered: bool
    key: tuple[str, ...]
    index: str

    def title(self, row: Mapping[str, Any]) -> str:
        """Return what a row is called for people."""
        named = str(row[self.key[0]])
        return named if self.index else f"row {named} of {self.name}"


def look_into(file: Path, *, live: bool = False) -> sqlite3.Connection:
    """Open a file to read it without making or changing any; with `live`, others may change it. Raises sqlite3.Error."""
    file = real(file)
    if has_only_its_log(file):
        raise sqlite3.DatabaseError("it is empty, and its write-ahead log is not")
    # Without a write-ahead log nobody has the file open; then SQLite is told so and makes no files beside it.
    mode = "mode=ro" if live or beside(file, "-wal").exists() else "mode=ro&immutable=1"
    connection = sqlite3.connect(f"{file.as_uri()}?{mode}", uri=True, timeout=_BUSY)
    connection.text_factory = _text
    return connection


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def tables(database: sqlite3.Connection) -> list[Table]:
    """Return the tables of a file; raises sqlite3.Error if its schema cannot be read."""
    listed = database.execute(
        "SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"
    )
    names = [(name, not without) for name, without in listed if not name.startswith("sqlite_")]
    return [_table(database, name, numbered=numbered) for name, numbered in names]


def _table(database: sqlite3.Connection, name: str, *, numbered: bool) -> Table:
    columns = database.execute("SELECT name FROM pragma_table_info(?) ORDER BY cid", (name,)).fetchall()
    unique = (
        "SELECT name FROM pragma_index_list(?) WHERE \"unique\" AND NOT partial ORDER BY origin = 'pk' DESC"
    )
    index = (database.execute(unique, (name,)).fetchone() or ("",))[0]
    key = database.execute("SELECT name FROM pragma_index_info(?) ORDER BY seqno", (index,)).fetchall()
    numbers = (_NUMBER,) if numbered else ()
    return Table(
        name,
        (*numbers, *(one for (one,) in columns)),
        numbered,
        tuple(one for (one,) in key) or numbers,
        index,
    )


def salvage(image: Path, whole: sqlite3.Connection, *, readable: Readable) -> Salvage:
    """Copy all rows of a damaged file that can be read, and that are `readable`, into the tables of an empty one.

    The file has no write-ahead log and nobody else has it open; it is changed meanwhile, and as it was afterwards.
    """
    result = Salvage()
    wanted = {table.name: set(table.columns) for table in tables(whole)}
    with closing(look_into(image)) as damaged:
        for table in tables(damaged):
            columns = tuple(column for column in table.columns if column in wanted.get(table.name, ()))
            if columns:
                rescue = _Rescue(image, whole, table=replace(table, columns=columns), readable=readable)
                rescue.run(damaged, result)
    return result


class _Rescue:
    """Takes over one table, described as the damaged file has it."""

    def __init__(self, image: Path, whole: sqlite3.Connection, *, table: Table, readable: Readable) -> None:
        self._image = image
        self._whole = whole
        self._table = table
        self._readable = readable
        self._result = Salvage()
        name, columns = _quoted(table.name), ", ".join(map(_quoted, table.columns))
        same = " AND ".join(f"{_quoted(column)} = ?" for column in table.key)
        self._select = f"SELECT {columns} FROM {name} NOT INDEXED"  # noqa: S608 - quoted
        self._insert = f"INSERT INTO {name} ({columns}) VALUES ({', '.join('?' * len(table.columns))})"  # noqa: S608 - quoted
        self._same = f"SELECT 1 FROM {name} WHERE {same}"  # noqa: S608 - quoted

    def run(self, damaged: sqlite3.Connection, result: Salvage) -> None:
        """Take over what can be read, and find out what is missing."""
        self._result = result
        order = (_NUMBER,) if self._table.numbered else self._table.key
        whole = any(
            self._take(damaged, f"{self._select} ORDER BY {_ordered(order, direction)}")
            for direction in ("ASC", "DESC")
        )
        missing, all_named = self._missing(damaged)
        if not whole and self._table.numbered and (missing or not all_named):
            self._leaf_by_leaf(damaged)
        for key in missing:
            if not self._is_saved(key):
                result.lose(str(key[0]))
        if not whole and not all_named:
            result.lose(f"some rows of {self._table.name}, nothing tells which")

    def _leaf_by_leaf(self, damaged: sqlite3.Connection) -> None:
        """Read every page of rows there is by itself: what leads to them may be damaged where they are not."""
        sql = "SELECT rootpage FROM sqlite_schema WHERE name = ?"
        (root,) = damaged.execute(sql, (self._table.name,)).fetchone()
        with (
            closing(look_into(self._image, live=True)) as reader,
            closing(each_leaf(self._image, root)) as leaves,
        ):
            for _page in leaves:
                if not self._take(reader, self._select, known=False):
                    self._row_by_row(reader)

    def _row_by_row(self, reader: sqlite3.Connection) -> None:
        """Read each row of a page by itself: one whose end lies on a damaged page does not hide the next."""
        try:
            numbers = reader.execute(f"SELECT rowid FROM {_quoted(self._table.name)} NOT INDEXED").fetchall()  # noqa: S608 - quoted
        except _DAMAGE:
            return
        for number in numbers:
            self._take(reader, f"{self._select} WHERE rowid = ?", values=number, known=False)

    def _missing(self, damaged: sqlite3.Connection) -> tuple[dict[Row, None], bool]:
        """Return the keys that the index tells of and that have not been taken over, and whether it told all."""
        table, missing = self._table, dict[Row, None]()
        keys = f"SELECT {', '.join(map(_quoted, table.key))} FROM {_quoted(table.name)} INDEXED BY {_quoted(table.index)}"  # noqa: S608 - quoted
        for direction in ("ASC", "DESC") if table.index else ():
            try:
                for key in damaged.execute(f"{keys} ORDER BY {_ordered(table.key, direction)}"):
                    if not self._is_saved(key):
                        missing[key] = None
            except _DAMAGE:
                continue
            return missing, True
        return missing, False

    def _take(self, source: sqlite3.Connection, sql: str, *, values: Row = (), known: bool = True) -> bool:
        """Take rows over up to the first that is damaged; say whether there was none. Are they `known` to be of this table?"""
        try:
            for row in source.execute(sql, values):
                self._keep(row, known=known)
        except _DAMAGE:
            return False
        return True

    def _keep(self, row: Row, *, known: bool) -> None:
        named = dict(zip(self._table.columns, row, strict=True))
        try:
            if self._readable(self._table.name, named):
                self._whole.execute(self._insert, row)
                self._result.saved += 1
                return
        except _REFUSED:
            if self._is_saved(tuple(named[column] for column in self._table.key)):
                return  # it was met before
        except sqlite3.Error as error:
            raise JournalError(f"what was saved cannot be written: {error}") from error
        if known:
            self._result.lose(self._table.title(named))

    def _is_saved(self, key: Row) -> bool:
        try:
            return self._whole.execute(self._same, key).fetchone() is not None
        except _REFUSED:
            return False


def _ordered(columns: Iterable[str], direction: str) -> str:
    return ", ".join(f"{_quoted(column)} {direction}" for column in columns)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
