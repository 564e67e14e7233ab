"""Copies of plugins' folders that nobody edits: a plugin runs from its copy while its folder is worked on."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from hermes.host.files.fingerprint import chunks, content_hash, plugin_files

CHANGED = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ESTALE})
"""What reading a folder fails of while somebody changes it."""


class ChangedMeanwhile(Exception):
    """A folder was written to while it was copied: nothing is wrong with it, look again in a moment."""


@dataclass(frozen=True, slots=True)
class Staged:
    """One copy, and the content hash of it and of what it was made from."""

    path: Path
    hash: str


class Staging:
    """Keeps the copies in `root`, a folder of its own: what it does not know there is removed."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._numbers = itertools.count(1)

    def open(self) -> list[OSError]:
        """Make the folder and remove what earlier processes left in it; return why something of that is still there.

        Raises OSError if there can be no such folder.
        """
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._root.chmod(0o700)
        errors = []
        for path in self._root.iterdir():
            try:
                _remove(path)
            except OSError as error:
                errors.append(error)
        return errors

    def copy(self, directory: Path, *, name: str) -> Staged:
        """Copy what belongs to the plugin in `directory`; modes and times of files are kept, links become what they lead to.

        Meant for a thread. `name` is the plugin's; the copy lies in `root/name/`. Nothing is left of one that fails.

        Raises:
            ChangedMeanwhile: `directory` was written to while it was copied.
            ConfigError: it is larger than a plugin may be.
            OSError: a file of it cannot be read, or the copy cannot be written.
        """
        number = next(self._numbers)
        # Under another name until it is whole and its hash is known.
        fresh = self._owned(self._root / name / f"new-{number}")
        whole = False
        try:
            found = _copy(directory, fresh)
            staged = fresh.rename(fresh.with_name(f"{found}-{number}"))
            whole = True
        finally:
            if not whole:
                # What went wrong first is what is told; the next start removes the rest.
                with contextlib.suppress(OSError):
                    _remove(fresh)
        return Staged(staged, found)

    def remove(self, path: Path) -> None:
        """Remove a copy with all that was written there since, if there is one; raises OSError if something is left."""
        _remove(self._owned(path))

    def _owned(self, path: Path) -> Path:
        if path.parent.parent != self._root or ".." in path.parts[-2:]:
            raise ValueError(f"{path} is not the place of a copy")
        return path


def _copy(source: Path, target: Path) -> str:
    """Copy a folder and return its hash; raises ChangedMeanwhile if it was not the same all the time."""
    target.mkdir(mode=0o700, parents=True)
    try:
        for name, path in plugin_files(source):
            _copy_file(path, target / name)
        before = content_hash(target)
        after = content_hash(source)
    except OSError as error:
        if error.errno not in CHANGED:
            raise
        raise ChangedMeanwhile(f"{source} changed while it was copied: {error.strerror}") from error
    if before != after:
        raise ChangedMeanwhile(f"{source} changed while it was copied")
    return after


def _copy_file(source: Path, target: Path) -> None:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = source.stat()
    with target.open("xb", buffering=0) as copy:
        for chunk in chunks(source):
            _write(copy.fileno(), chunk)
    target.chmod(status.st_mode & 0o777)
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))


def _write(descriptor: int, chunk: bytes) -> None:
    """Write all of it: near a limit the system writes only a part, and fails the next time."""
    rest = memoryview(chunk)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _remove(path: Path) -> None:
    """Remove a file, link or folder, if there is one."""
    if path.is_symlink() or path.is_file():
        path.unlink(missing_ok=True)
    elif path.exists():
        try:
            shutil.rmtree(path)
        except PermissionError:
            _unlock(path)
            shutil.rmtree(path)
        except RecursionError:  # a plugin may have nested folders as deeply as it wants
            raise OSError(
                errno.ENAMETOOLONG, "folders too deep in one another to be removed", str(path)
            ) from None


def _unlock(top: Path) -> None:
    """Let this process list and change every folder below: a plugin may have taken the permissions from them."""
    top.chmod(0o700)
    for folder, folders, _ in os.walk(top):
        for name in folders:
            path = Path(folder) / name
            if not path.is_symlink():
                path.chmod(0o700)
