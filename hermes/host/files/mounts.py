"""What lies where: which places lie on file systems that keep silent about changes that were made elsewhere."""

from __future__ import annotations

import os
import re
from pathlib import Path

MOUNTINFO = Path("/proc/self/mountinfo")

_SILENT = re.compile(
    r"9p|nfs\d*|cifs|smb\w*|afs|ceph|coda|gfs2?|glusterfs|gpfs|lustre|ncpfs|ocfs2"  # other machines
    r"|virtiofs|vboxsf|vmhgfs|prl_fs|drvfs|fakeowner|fuse(\..+)?"  # the machine around a virtual one, and programs
)
# The root of a container that was started without rights: what changes there is changed inside, and seen.
_TELLING = frozenset({"fuse.fuse-overlayfs"})
_ESCAPED = re.compile(rb"\\([0-7]{3})")


class Mounts:
    """The mounts of this process as a file in the format of /proc/self/mountinfo has them; none if there is no file.

    Raises OSError if it cannot be read.
    """

    def __init__(self, mountinfo: Path = MOUNTINFO) -> None:
        lines = mountinfo.read_bytes().splitlines() if mountinfo.exists() else []
        # Of those on one place, the last is what is seen there.
        self._types = dict(map(_mount, lines))

    def silent_type(self, path: Path) -> str | None:
        """Return the type of the file system that `path` lies on if changes made elsewhere are not told there, else None."""
        real = Path(os.path.realpath(path))
        found = next((self._types[place] for place in (real, *real.parents) if place in self._types), "")
        return found if _SILENT.fullmatch(found) and found not in _TELLING else None

    def is_mount(self, path: Path) -> bool:
        """Say whether `path` is mounted by itself: then what is done to it elsewhere is not done in the folder around it."""
        return Path(os.path.realpath(path)) in self._types


def _mount(line: bytes) -> tuple[Path, str]:
    """Return the place and the type that a line tells of."""
    before, _, after = line.partition(b" - ")
    place = _ESCAPED.sub(lambda match: bytes([int(match[1], 8)]), before.split(b" ")[4])
    return Path(os.fsdecode(place)), os.fsdecode(after.split(b" ")[0])
