"""One plain file of a SQLite database and its write-ahead log, put together without SQLite: it goes on past damage."""

from __future__ import annotations

import errno
import os
import struct
import sys
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hermes.sqlite_file import beside

_MAGIC = b"SQLite format 3\0"
_HEADER = 100  # bytes
_LEAF = 13  # the first byte of a page that holds rows
_LOG_MAGIC = 0x377F0682  # the lowest bit: checksums are of big-endian words
_LOG_HEADER, _FRAME_HEADER = 32, 24  # bytes
_PIECE, _SECTOR = 1 << 20, 4096  # bytes copied in one go, and where the disk has them not all
_PAGE_BYTES = 4096  # where no header says how large a page is

Sums = tuple[int, int]


@dataclass(slots=True)
class Log:
    """What a write-ahead log holds: where the newest image of each page starts, by the number of the page.

    `damaged` says that commits lie behind a damaged place, where SQLite does not look; they are among the images.
    `lacking` says that there was something which cannot be read.
    """

    page_bytes: int = _PAGE_BYTES
    images: dict[int, int] = field(default_factory=dict)
    damaged: bool = False
    lacking: bool = False


@dataclass(frozen=True, slots=True)
class _Frame:
    page: int
    size: int  # of the database in pages, if a commit ends here; 0 if not
    sums: Sums
    start: int  # of the page's image


def read_log(file: Path) -> Log:
    """Read the log beside a database; one that is not there, or empty, has no images."""
    path = beside(file, "-wal")
    if not path.exists() or path.stat().st_size <= _LOG_HEADER:
        return Log()
    size = _page_bytes(file)
    with path.open("rb") as log:
        return _LogReader(log.fileno(), size, pages=file.stat().st_size // size).read()


def read_at(descriptor: int, length: int, *, at: int) -> bytes:
    """Return a part of a file that is not larger than a page; zeros stand for what the disk does not give back."""
    try:
        return os.pread(descriptor, length, at)
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        return bytes(length)


def _write_at(descriptor: int, content: bytes, *, at: int) -> None:
    """Write all of it: a disk that becomes full takes a part first."""
    while content:
        done = os.pwrite(descriptor, content, at)
        content, at = content[done:], at + done


def for_the_owner(path: str, flags: int) -> int:
    """Open a file, as open() asks for it, that nobody else may read."""
    return os.open(path, flags, 0o600)


def transfer(source: int, target: int) -> None:
    """Copy a file, as far as the disk gives it back."""
    for start in range(0, os.fstat(source).st_size, _PIECE):
        try:
            piece = os.pread(source, _PIECE, start)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            places = range(start, min(start + _PIECE, os.fstat(source).st_size), _SECTOR)
            piece = b"".join(read_at(source, _SECTOR, at=place) for place in places)
        _write_at(target, piece, at=start)


def put_together(file: Path, log: Log, *, into: Path) -> None:
    """Write a database with the pages of its log into one file, which says in its header how long it really is."""
    with file.open("rb") as database, open(into, "w+b", opener=for_the_owner) as image:
        transfer(database.fileno(), image.fileno())
        if log.images:
            _lay_over(image.fileno(), beside(file, "-wal"), log=log)
        _set_length(image.fileno(), log.page_bytes)


def graft(image: Path, donor: Path) -> None:
    """Put the first page of an empty database of the same schema in the place of one that cannot be read."""
    size = _page_bytes(donor)
    with donor.open("rb") as healthy, image.open("r+b") as sick:
        sick.write(healthy.read(size))
        sick.flush()
        sick.truncate(max(donor.stat().st_size, image.stat().st_size))  # the pages that its tables begin at
        _set_length(sick.fileno(), size)


def each_leaf(image: Path, root: int) -> Generator[int, None, None]:
    """Put each page that holds rows of any table in the place of page `root`, one after the other; yields its number.

    For who reads the file meanwhile the table that begins there then has that page alone. At the end all is as it was.
    """
    size = _page_bytes(image)
    with image.open("r+b", buffering=0) as file:
        descriptor = file.fileno()
        header, first = os.pread(descriptor, _HEADER, 0), os.pread(descriptor, size, (root - 1) * size)
        free = _free(descriptor, size)
        try:
            _write_at(
                descriptor, b"\1\1", at=18
            )  # no log, so that a reader looks whether the file has changed
            for page in range(2, os.fstat(descriptor).st_size // size + 1):
                content = first if page == root else os.pread(descriptor, size, (page - 1) * size)
                if content[0] == _LEAF and page not in free:
                    _write_at(descriptor, content, at=(root - 1) * size)
                    _write_at(descriptor, page.to_bytes(4, "big"), at=24)  # that it has
                    yield page
        finally:
            _write_at(descriptor, header, at=0)
            _write_at(descriptor, first, at=(root - 1) * size)


def _free(descriptor: int, size: int) -> set[int]:
    """Return the pages that are not in use: what they hold was removed."""
    free = set[int]()
    trunk = int.from_bytes(os.pread(descriptor, 4, 32), "big")
    while trunk and trunk not in free and len(page := os.pread(descriptor, size, (trunk - 1) * size)) == size:
        free.add(trunk)
        trunk, count = struct.unpack_from(">II", page)
        free.update(struct.unpack_from(f">{min(count, size // 4 - 2)}I", page, 8))
    return free


def _lay_over(descriptor: int, path: Path, *, log: Log) -> None:
    size = log.page_bytes
    with path.open("rb") as pages:
        for page, start in log.images.items():
            _write_at(descriptor, read_at(pages.fileno(), size, at=start), at=(page - 1) * size)


def _set_length(descriptor: int, page_bytes: int) -> None:
    """Write the number of pages there are into the header: SQLite reads nothing of a file that was cut off."""
    pages = os.fstat(descriptor).st_size // page_bytes
    os.truncate(descriptor, pages * page_bytes)
    if pages:
        _write_at(descriptor, pages.to_bytes(4, "big"), at=28)
        _write_at(
            descriptor, os.pread(descriptor, 4, 24), at=92
        )  # SQLite believes it only if these are the same


def _page_bytes(file: Path) -> int:
    with file.open("rb") as database:
        header = read_at(database.fileno(), 18, at=0)
    size = int.from_bytes(header[16:18], "big")
    size = 65536 if size == 1 else size
    known = header[:16] == _MAGIC and size >= 512 and size & (size - 1) == 0
    return size if known else _PAGE_BYTES


class _LogReader:
    """Follows the chain of checksums that runs through a log, and takes it up again behind a place where it breaks."""

    def __init__(self, descriptor: int, page_bytes: int, *, pages: int) -> None:
        self._descriptor = descriptor
        header = read_at(descriptor, _LOG_HEADER, at=0)
        magic, _version, size, _count, self._salts, one, two = struct.unpack(">IIII8sII", header)
        self._order = ">" if magic == _LOG_MAGIC + 1 else "<" if magic == _LOG_MAGIC else _native()
        self._sums: Sums | None = (one, two)
        known = magic in {_LOG_MAGIC, _LOG_MAGIC + 1}
        if not known or self._sum((0, 0), header[:24]) != self._sums:
            self._sums = None  # the chain begins with the first frame then
        self._log = Log(page_bytes if self._sums is None else size, damaged=self._sums is None)
        size_of_all = os.fstat(descriptor).st_size - _LOG_HEADER
        self._frames = size_of_all // (self._log.page_bytes + _FRAME_HEADER)
        self._most = pages + self._frames  # a higher number is one that something has to vouch for

    def read(self) -> Log:
        frames = self._walk()
        sums, commits, broken = self._sums, 0, False
        pending: dict[int, int] = {}
        for frame in frames:
            if self._follows(frame, sums):
                pending[frame.page] = frame.start
                commits += frame.size > 0
            else:
                # What is left of a commit that failed ends with it; a chain with more than one was cut.
                broken, commits, pending = True, 0, {}
            sums = frame.sums
            if frame.size and (not broken or commits > 1):
                self._log.damaged |= broken
                self._log.images |= {page: start for page, start in pending.items() if page <= frame.size}
                pending = {}
        self._log.lacking = self._log.damaged and (broken or not self._log.images)
        return self._log

    def _walk(self) -> Iterator[_Frame]:
        """Yield the frames that belong together; behind them may be those of an earlier use of the file."""
        size = self._log.page_bytes
        for number in range(self._frames):
            start = _LOG_HEADER + number * (_FRAME_HEADER + size)
            header = read_at(self._descriptor, _FRAME_HEADER, at=start)
            page, pages, salts, one, two = struct.unpack(">II8sII", header)
            if number == 0 and self._sums is None:
                self._salts = salts
            if salts == self._salts:
                yield _Frame(page, pages, (one, two), start + _FRAME_HEADER)

    def _follows(self, frame: _Frame, sums: Sums | None) -> bool:
        if frame.page == 0:
            return False
        if sums is None:  # what ends the commit tells whether the number can be right, unless it is this one
            return frame.size == 0 or frame.page <= self._most
        content = read_at(self._descriptor, 8, at=frame.start - _FRAME_HEADER)
        content += read_at(self._descriptor, self._log.page_bytes, at=frame.start)
        return self._sum(sums, content) == frame.sums

    def _sum(self, sums: Sums, content: bytes) -> Sums:
        one, two = sums
        words = iter(struct.unpack(f"{self._order}{len(content) // 4}I", content))
        for first, second in zip(words, words, strict=True):
            one = (one + first + two) & 0xFFFFFFFF
            two = (two + second + one) & 0xFFFFFFFF
        return one, two


def _native() -> str:
    return "<" if sys.byteorder == "little" else ">"
