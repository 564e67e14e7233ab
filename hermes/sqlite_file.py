"""A SQLite file before it is opened: where it really is, and what must keep one from opening it. It opens none itself."""

from __future__ import annotations

import os
from pathlib import Path

BESIDE = ("-wal", "-shm", "-journal")
"""The ends of the names of the files that SQLite keeps beside one."""
_HEADER = 100  # bytes that the smallest database has


def real(file: Path) -> Path:
    """Return the file that a name stands for: SQLite keeps what belongs to a file beside it, and not beside a link."""
    return Path(os.path.realpath(file))


def beside(file: Path, suffix: str) -> Path:
    """Return the file that SQLite keeps beside a database that is no link, -wal, -shm or -journal."""
    return file.with_name(file.name + suffix)


def has_only_its_log(file: Path) -> bool:
    """Say whether a file is empty, cut off within its header or gone, while its write-ahead log is not.

    SQLite takes such a log for a leftover and removes it when the file is opened, even by who only reads.
    """
    file = real(file)
    return _size(file) < _HEADER and _size(beside(file, "-wal")) > 0


def obstacle(file: Path) -> str | None:
    """Return why a file is none that could be opened, or a link to none; None if it may be good or is not there yet."""
    target = real(file)
    for path in (target, *(beside(target, end) for end in BESIDE)):
        if path.exists() and not path.is_file():
            return f"{path.name} is not a regular file"
    if file.is_symlink() and not target.exists() and not has_only_its_log(target):
        return f"it is a link to {target}, and there is no file"
    return None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0  # who opens it is told why
