"""What the kernel says in /proc of processes, ours and others. It changes nothing, and where there is no /proc it knows nothing.

Any process may be gone by the time it is asked about: then there is nothing to list, and None to say.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from hermes.values import value

MARK = "HERMES_WORKER"
"""The variable in a plugin's environment by which its processes are known, wherever they went."""

_MARK = MARK.encode() + b"="
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_CHUNK = 1 << 16


@value
class Stat:
    """One line of /proc/<pid>/stat: `state` as ps has it (R, S, T, Z), `started` in ticks since boot."""

    name: str
    state: str
    parent: int
    session: int
    started: int

    @property
    def ended(self) -> bool:
        """Say whether nothing of it is left but its entry, for whoever reaps it."""
        return self.state in {"Z", "X"}


def stat(pid: int) -> Stat | None:
    """Return what the kernel has on a process; None if there is none of that pid."""
    # The name may hold anything, even ") (": it ends at the last parenthesis.
    name, _, rest = _read(f"/proc/{pid}/stat").partition(b"(")[2].rpartition(b")")
    fields = rest.split()
    if len(fields) < 20 or int(fields[3]) < 0:  # just being reaped, it has no session any more
        return None
    return Stat(
        name.decode("utf-8", "replace"),
        fields[0].decode(),
        parent=int(fields[1]),
        session=int(fields[3]),
        started=int(fields[19]),
    )


def state(pid: int) -> str | None:
    """Return the state of a process as ps has it, such as R, S, T or Z."""
    found = stat(pid)
    return found.state if found is not None else None


def session(pid: int) -> int | None:
    """Return the session that a process is in: the pid of the process that began it."""
    found = stat(pid)
    return found.session if found is not None else None


def started(pid: int) -> int | None:
    """Return when a process began, in ticks since boot: with its pid it names a process for good."""
    found = stat(pid)
    return found.started if found is not None else None


def children(pid: int) -> list[int]:
    """Return the children of a process, those that have ended and were not reaped too."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # each has the children that it started itself
    except OSError:
        return []
    return [
        int(child) for thread in threads for child in _read(f"/proc/{pid}/task/{thread}/children").split()
    ]


def descendants(pid: int, *, most: int = 4096) -> list[int]:
    """Return the children of a process and theirs, parents first, up to about `most` of them."""
    found = children(pid)
    for descendant in found:  # it grows meanwhile
        if len(found) >= most:
            break
        found += children(descendant)
    return found


def rss_bytes(pid: int) -> int | None:
    """Return the memory that a process holds, pages that it shares with others counted in full."""
    fields = _read(f"/proc/{pid}/statm").split()
    return int(fields[1]) * _PAGE_BYTES if fields else None


def mark(pid: int) -> str | None:
    """Return the MARK that a process was started with.

    None if it has none, if its environment is not ours to read, and for a moment while it becomes another program.
    """
    for variable in _read(f"/proc/{pid}/environ").split(b"\0"):
        if variable.startswith(_MARK):
            return variable.removeprefix(_MARK).decode("utf-8", "replace")
    return None


def everyone(uid: int) -> Iterator[int]:
    """Return the pids of all processes of a user."""
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdigit() and _owner(name) == uid:
            yield int(name)


def _owner(pid: str) -> int | None:
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None


def _read(path: str) -> bytes:
    """Return what a file in /proc says, nothing if it cannot be read; without a file object, which would cost half."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    parts = []
    try:
        while part := os.read(fd, _CHUNK):
            parts.append(part)
    except OSError:  # it ended meanwhile
        return b""
    finally:
        os.close(fd)
    return b"".join(parts)
