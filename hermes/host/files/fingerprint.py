"""What belongs to a plugin's folder, and a hash that tells two contents of it apart. Only reads."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from hermes.errors import ConfigError

MOST_FILES = 20_000
"""Files and folders that a plugin may have."""

MOST_BYTES = 1 << 30
"""Bytes that a plugin's files may have together."""

_DEEPEST = 100  # folders in one another; what copies and removes a plugin calls itself for each
_CHUNK = 1 << 18
_NEVER = frozenset({"__pycache__", "__MACOSX", "4913"})  # vim makes 4913 to try whether it may write there
_ENDINGS = (
    *(".pyc", ".pyo"),
    *("~", ".swp", ".swo", ".swx", ".bak", "___jb_tmp___", "___jb_old___"),
    *(".tmp", ".temp", ".part", ".filepart", ".crdownload"),
    *(".log", ".pid", ".sock"),
)
_BROKEN = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})


def counts(name: str) -> bool:
    """Say whether a file or folder of this name belongs to a plugin, wherever in its folder it lies.

    What is hidden does not, nor bytecode, nor what editors, downloads and running programs leave beside the files.
    """
    if name.startswith(".") or name in _NEVER or (name.startswith("#") and name.endswith("#")):
        return False
    return not name.lower().endswith(_ENDINGS)


def plugin_files(directory: Path) -> list[tuple[str, Path]]:
    """Return the files that belong to the plugin in `directory`, by their names relative to it, with `/`, in order.

    Links are followed, to files and to folders, wherever they lead; a folder that contains itself is entered once.
    Broken links and what is neither a file nor a folder are left out.

    Raises:
        ConfigError: there are more files or bytes than a plugin may have, or they are nested too deeply.
        OSError: something cannot be read, or went away meanwhile: then look again.
    """
    found: list[tuple[str, Path]] = []
    extent = _Extent(directory)
    todo = [("", frozenset({_identity(directory.stat())}))]
    while todo:
        prefix, around = todo.pop()
        with os.scandir(directory / prefix) as entries:
            for entry in entries:
                status = _status(entry) if counts(entry.name) else None
                if status is None:
                    continue
                if stat.S_ISREG(status.st_mode):
                    extent.add(status.st_size)
                    found.append((prefix + entry.name, Path(entry.path)))
                elif stat.S_ISDIR(status.st_mode) and _identity(status) not in around:
                    extent.add(0)
                    if len(around) > _DEEPEST:
                        raise _too_deep(directory)
                    todo.append((f"{prefix}{entry.name}/", around | {_identity(status)}))
    return sorted(found)


def content_hash(directory: Path) -> str:
    """Return 16 hexadecimal digits for the names, contents and executable bits of the files of a plugin.

    They are the same on every machine. Raises as `plugin_files` does.
    """
    whole = hashlib.sha256()
    for name, path in plugin_files(directory):
        executable = path.stat().st_mode & stat.S_IXUSR
        content = hashlib.sha256()
        for chunk in chunks(path):
            content.update(chunk)
        whole.update(os.fsencode(name) + (b"\0x" if executable else b"\0-") + content.digest())
    return whole.hexdigest()[:16]


def written_at(directory: Path) -> float:
    """Return when a file of a plugin was written, made or renamed last, in Unix seconds; 0 if there is none.

    No copy and no tool can set that back, unlike the time that is shown. Raises as `plugin_files` does.
    """
    return max((path.stat().st_ctime for _, path in plugin_files(directory)), default=0.0)


def chunks(path: Path) -> Iterator[bytes]:
    """Read a file piece by piece, however it grows meanwhile no further than a plugin may be large.

    Raises:
        ConfigError: it has more bytes than a plugin may have.
        OSError: it cannot be read.
    """
    left = MOST_BYTES
    with open(path, "rb", buffering=0, opener=_open) as file:
        while chunk := file.read(_CHUNK):
            left -= len(chunk)
            if left < 0:
                raise _too_large(path)
            yield chunk


class _Extent:
    """Counts what a plugin has, and refuses what is too much: a link to `/` would be read for hours."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._files = 0
        self._bytes = 0

    def add(self, size: int) -> None:
        self._files += 1
        self._bytes += size
        if self._files > MOST_FILES:
            raise ConfigError(
                f"has more than {MOST_FILES:,} files and folders; take out what the plugin does not need, and look for "
                "links that lead out of it",
                file=str(self._directory),
            )
        if self._bytes > MOST_BYTES:
            raise _too_large(self._directory)


def _too_deep(directory: Path) -> ConfigError:
    return ConfigError(
        f"has more than {_DEEPEST} folders in one another; look for links that lead out of it",
        file=str(directory),
    )


def _too_large(path: Path) -> ConfigError:
    return ConfigError(
        f"has more than {MOST_BYTES >> 30} GiB; keep what is large outside of plugins_dir, such as in the plugin's data_dir",
        file=str(path),
    )


def _open(path: str, flags: int) -> int:
    # What was a file a moment ago may be a pipe by now, and opening one would wait for somebody to write to it.
    return os.open(path, flags | os.O_NONBLOCK)


def _status(entry: os.DirEntry[str]) -> os.stat_result | None:
    """Return what an entry is, or what it leads to; None for a link that leads nowhere."""
    try:
        return entry.stat()
    except OSError as error:
        if entry.is_symlink() and error.errno in _BROKEN:
            return None
        raise


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
