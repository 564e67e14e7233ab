"""Watches on folders through watchdog's threads, by the system's events or by polling. Its methods block; use a thread."""

from __future__ import annotations

import errno
import os
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from watchdog.events import (
    DirAttribEvent,
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileAttribEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver, ObservedWatch
from watchdog.observers.polling import PollingObserver, PollingObserverVFS

from hermes.host.files.fingerprint import counts
from hermes.host.files.mounts import MOUNTINFO
from hermes.host.files.spots import Spot, Touched, find_spots

_POLL_EVERY = 1.0  # seconds
_STOP_WITHIN = 5.0  # seconds; a folder on a server that is away may hold a thread for ever
_ANYWHERE = "/proc"  # a folder that is always there and that nobody watches

# Not among them: that a folder is modified, which comes with every event in it, and that something was only read.
_MADE = (DirCreatedEvent, DirMovedEvent)
_COMES_AND_GOES = [*_MADE, DirDeletedEvent, FileCreatedEvent, FileMovedEvent, FileDeletedEvent]
_NAMED = [
    *_COMES_AND_GOES,
    FileClosedEvent,
]  # without each write: a log that lies there too is written all the time
_CHANGES = [*_NAMED, FileModifiedEvent, FileAttribEvent, DirAttribEvent]


def _events() -> BaseObserver:
    # Said of folders that are made while their parent's watch is being set up; with every path that is watched.
    warnings.filterwarnings("ignore", "Callback with id", RuntimeWarning)
    observer = Observer()
    if isinstance(observer, PollingObserver):  # what watchdog takes where it knows nothing better
        raise OSError(errno.ENOSYS, "this system tells of no changes")
    return observer


def _polling() -> BaseObserver:
    # Links are not followed: two that lead to each other's folders would be followed until the path is too long.
    return PollingObserverVFS(os.lstat, _listed, polling_interval=_POLL_EVERY)


def _listed(folder: str | None) -> Iterator[os.DirEntry[str]]:
    """List a folder without the folders that do not count, such as .git: polling would read all of them each time."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if counts(entry.name) or entry.name.startswith("..") or not entry.is_dir(follow_symlinks=False):
                yield entry


@dataclass(frozen=True, slots=True)
class System:
    """What watching takes of the system.

    `events` and `polling` make an observer that has not started; they raise OSError if they cannot. `mountinfo` is the
    file that tells what is mounted where.
    """

    events: Callable[[], BaseObserver] = _events
    polling: Callable[[], BaseObserver] = _polling
    mountinfo: Path = MOUNTINFO


class Watches:
    """Watches the plugins folder and some files; `tell` is called, in other threads, with what may have changed."""

    def __init__(self, folder: Path, files: Sequence[Path], *, tell: Callable[[Touched], None]) -> None:
        self._folder = folder
        self._files = files
        self._tell = tell
        self._lock = threading.Lock()
        self._observer: BaseObserver | None = None
        self._polled = False
        self._kept: dict[Spot, _Kept] = {}
        self._anew = False
        self._grown = True

    def open(self, make: Callable[[], BaseObserver], *, polled: bool) -> None:
        """Begin to watch; raises OSError if the system will not have it, and nothing is left then."""
        observer = make()
        observer.start()
        self._observer, self._polled = observer, polled
        try:
            self.renew()
        except OSError:
            self.close()
            raise

    def renew(self) -> None:
        """Watch what there is to watch now: what came, what was replaced, what links lead to.

        Raises OSError if the system will not have it. What cannot be polled is tried again the next time.
        """
        with self._lock:
            if self._observer is None:
                return
            anew, self._anew = self._anew, False
            wanted = {spot: _identity(spot.path) for spot in find_spots(self._folder, self._files)}
            for spot, kept in list(self._kept.items()):
                if anew or wanted.get(spot) != kept.identity:
                    self._observer.unschedule(self._kept.pop(spot).watch)
            for spot, identity in wanted.items():
                if identity is not None and spot not in self._kept:
                    self._add(self._observer, spot, identity=identity)
            if self._grown and not self._polled:
                self._grown = False
                _try_one_more(self._observer)

    def close(self) -> None:
        """End the threads; one that is held by a folder that does not answer is left behind."""
        if not self._lock.acquire(timeout=_STOP_WITHIN):
            return
        observer, self._observer = self._observer, None
        self._kept.clear()
        self._lock.release()
        if observer is not None:
            ending = threading.Thread(target=_end, args=(observer,), name="end-of-watching", daemon=True)
            ending.start()
            ending.join(_STOP_WITHIN)

    def _add(self, observer: BaseObserver, spot: Spot, *, identity: _Identity) -> None:
        narrow = not spot.deep and not self._polled and spot.path != os.path.realpath(self._folder)
        try:
            watch = observer.schedule(
                _Ear(spot, self._hear),
                spot.path,
                recursive=spot.deep,
                event_filter=_NAMED if narrow else _CHANGES,
            )
        except OSError as error:
            if self._polled or error.errno in (errno.ENOENT, errno.ENOTDIR):
                return
            raise
        self._kept[spot] = _Kept(watch, identity)

    def _hear(self, spot: Spot, event: FileSystemEvent) -> None:
        if isinstance(event, _MADE):
            self._grown = True
        paths: frozenset[Path] = frozenset()
        for path in (event.src_path, event.dest_path):
            parts = _parts(os.fsdecode(path), root=spot.path)
            touched = paths if parts is None else spot.touched(parts)
            if touched is None:
                # A folder that comes back under its name is not the one that is watched.
                self._anew = True
                self._tell(None)
                return
            paths |= touched
        if paths:
            self._tell(paths)


_Identity = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Kept:
    watch: ObservedWatch
    identity: _Identity


class _Ear(FileSystemEventHandler):
    """Hears the events of one spot."""

    def __init__(self, spot: Spot, hear: Callable[[Spot, FileSystemEvent], None]) -> None:
        self._spot = spot
        self._hear = hear

    def dispatch(self, event: FileSystemEvent) -> None:
        self._hear(self._spot, event)


def _identity(path: str) -> _Identity | None:
    """Return what tells a folder from another of its name, None if there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _parts(path: str, *, root: str) -> list[str] | None:
    """Return the names on the way from `root` to `path`, None if it lies elsewhere."""
    if path == root:
        return []
    above = os.path.join(root, "")
    return path.removeprefix(above).split(os.sep) if path.startswith(above) else None


def _try_one_more(observer: BaseObserver) -> None:
    """Raise OSError if no more folders can be watched: watchdog keeps silent about those below a watched one."""
    if os.path.isdir(_ANYWHERE):
        observer.unschedule(
            observer.schedule(FileSystemEventHandler(), _ANYWHERE, event_filter=[DirCreatedEvent])
        )


def _end(observer: BaseObserver) -> None:
    observer.stop()
    observer.join()
