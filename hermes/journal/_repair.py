"""Repairs a damaged SQLite file: copies it first, saves what can be read into a new one, and puts that in its place."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from hermes.errors import JournalError
from hermes.journal._image import Log, for_the_owner, graft, put_together, read_at, read_log, transfer
from hermes.journal._salvage import Readable, Salvage, look_into, salvage, tables
from hermes.sqlite_file import BESIDE, beside, has_only_its_log, obstacle, real

_SHOWN = 20  # faults that are told
_SPARE = 16 << 20  # bytes of room that must be left


@dataclass(frozen=True, slots=True)
class Repair:
    """What came of a repair. Without `faults` nothing was wrong, and nothing was done.

    `copy` is the damaged file, `saved` how many rows the new one has, `lost` what the others were: request_ids or
    keys where they can still be read.
    """

    file: Path
    faults: tuple[str, ...] = ()
    copy: Path | None = None
    saved: int = 0
    lost: tuple[str, ...] = ()


def repair(file: Path, *, make: Callable[[Path], None], readable: Readable) -> Repair:
    """Repair a file that nobody else has open. `make` makes an empty one of its kind, and closes it.

    A kill at any moment leaves the old file or the new one whole. Of a link, what it leads to is repaired. Raises
    JournalError if it cannot be repaired; then it is as it was.
    """
    try:
        if reason := obstacle(file):
            raise JournalError(f"it cannot be repaired: {reason}")
        return replace(_repair(real(file), make=make, readable=readable), file=file)
    except (OSError, sqlite3.Error) as problem:
        raise JournalError(f"it cannot be repaired: {problem}; it is as it was") from problem


def _repair(file: Path, *, make: Callable[[Path], None], readable: Readable) -> Repair:
    if has_only_its_log(file):
        file.touch(0o600)
    elif not file.exists():
        return Repair(file)
    whole, image = file.with_name(f"{file.name}.repaired"), file.with_name(f"{file.name}.image")
    _clear(whole, image)  # what a repair left that was killed
    log = read_log(file)
    faults = tuple(_faults(file, log, readable=readable))
    if not faults:
        return Repair(file)
    _need_room(file)
    try:
        make(whole)
        put_together(file, log, into=image)
        _refuse_later(image, whole)
        copy = _copy(file)
        result = _fill(image, log, whole=whole, readable=readable)
        _swap(file, image=image, whole=whole)
    finally:
        _clear(whole, image)
    return Repair(file, faults, copy, result.saved, tuple(result.lost))


def _faults(file: Path, log: Log, *, readable: Readable) -> Iterator[str]:
    """Yield what is wrong with a file: what SQLite finds, and what it cannot see."""
    if log.damaged:
        yield "its write-ahead log is damaged"
    if has_only_its_log(file):
        yield "the file is empty, and its write-ahead log is not"
        return
    if file.stat().st_size == 0:
        return
    try:
        with closing(look_into(file)) as database:
            rows = [str(row) for (row,) in database.execute(f"PRAGMA integrity_check({_SHOWN})")]
            yield from (row for row in rows if row != "ok")
            if rows == ["ok"]:
                yield from _unreadable(database, readable)
    except sqlite3.Error as error:
        yield f"it cannot be read: {error}"


def _unreadable(database: sqlite3.Connection, readable: Readable) -> Iterator[str]:
    shown = 0
    for table in tables(database):
        names = ", ".join(f'"{column}"' for column in table.columns)
        for row in database.execute(f'SELECT {names} FROM "{table.name}"'):  # noqa: S608 - names are of the schema
            named = dict(zip(table.columns, row, strict=True))
            if not readable(table.name, named):
                yield f"{table.title(named)} cannot be read"
                shown += 1
                if shown == _SHOWN:
                    return


def _need_room(file: Path) -> None:
    sizes = [path.stat().st_size for path in (file, *(beside(file, end) for end in BESIDE)) if path.exists()]
    needed, free = 3 * sum(sizes) + _SPARE, shutil.disk_usage(file.parent).free
    if free < needed:
        raise JournalError(
            f"there is no room to repair it: {needed >> 20} MiB are needed and {free >> 20} MiB are free; it is as it was"
        )


def _copy(file: Path) -> Path:
    """Copy a file and what lies beside it under a new name, and return that of the file."""
    name = f"{file.name}.damaged-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"
    copy, number = file.with_name(name), 1
    while any(path.exists() for path in (copy, *(beside(copy, end) for end in BESIDE))):
        number += 1
        copy = file.with_name(f"{name}-{number}")
    for source, target in ((beside(file, end), beside(copy, end)) for end in ("", *BESIDE)):
        if source.exists():
            with source.open("rb") as old, open(target, "xb", opener=for_the_owner) as new:
                transfer(old.fileno(), new.fileno())
                os.fsync(new.fileno())
    _sync(file.parent)
    return copy


def _refuse_later(image: Path, whole: Path) -> None:
    """Refuse a file that a later version wrote: what this one does not know of would be lost."""
    with image.open("rb") as old, whole.open("rb") as new:
        theirs, ours = (read_at(one.fileno(), 64, at=0) for one in (old, new))
    version = int.from_bytes(theirs[60:], "big")
    if theirs[:16] == ours[:16] and version > int.from_bytes(ours[60:], "big"):
        raise JournalError(f"it was written by a later version of Hermes (format {version}); it is as it was")


def _fill(image: Path, log: Log, *, whole: Path, readable: Readable) -> Salvage:
    """Put everything into `whole` that can be read in an image of the damaged file and its log."""
    if not _has_schema(image):
        graft(image, whole)
    with closing(sqlite3.connect(whole, isolation_level=None)) as new:
        new.execute("PRAGMA synchronous = OFF")  # the whole file is made safe once, at the end
        new.execute("BEGIN")
        result = salvage(image, new, readable=readable)
        if log.lacking:
            result.lose("what the damaged part of its write-ahead log held")
        new.execute("COMMIT")
        new.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (verdict,) = new.execute("PRAGMA integrity_check(1)").fetchone()
    if verdict != "ok":
        raise OSError(errno.EIO, f"what was written reads otherwise ({verdict})")
    for path in (image, whole):
        _sync(path)
    return result


def _has_schema(image: Path) -> bool:
    with closing(look_into(image)) as database:
        try:
            return bool(tables(database))
        except sqlite3.Error:
            return False


def _swap(file: Path, *, image: Path, whole: Path) -> None:
    """Put the new file in the place of the old one; whenever this is cut short, one of them is there, whole."""
    ends = [path for path in (beside(file, end) for end in BESIDE) if path.exists()]
    if ends:
        # A log must not meet a file that it does not belong to: the old file takes its own into itself first.
        image.replace(file)
        _sync(file.parent)
        for path in ends:
            path.unlink()
        _sync(file.parent)
    whole.replace(file)
    _sync(file.parent)


def _clear(*paths: Path) -> None:
    for path in paths:
        for end in ("", *BESIDE):
            beside(path, end).unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
