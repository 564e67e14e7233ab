"""A repair that is killed, at whatever moment, leaves one whole file, from which the next one saves as much."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.faults import Disk, Fault
from tests.support.ruins import fill, leaves, overwrite, read

EVERY = 40  # of the many calls that come before the last ones
LAST = 22  # among which the new file takes the place of the old one

# Forks one process for each moment, which is killed there; then says what the next repair saved.
MEND = """
import os, sys
from pathlib import Path
from tests.support.ruins import mend
file = Path(sys.argv[1])
for line in sys.stdin:
    process = os.fork()
    if not process:
        mend(file)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
"""


class Mending:
    """A process that repairs a file over and over, as often as it is asked."""

    def __init__(self, file: Path, disk: Disk) -> None:
        self._disk = disk
        self._process = subprocess.Popen(
            [sys.executable, "-c", MEND, str(file)],
            cwd=Path(__file__).parents[2],
            env=os.environ | disk.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def mend(self, *, calls: int, fault: Fault = "kill") -> tuple[int, int]:
        """Repair, and be killed at the call after these; returns the exit code and how many calls there were."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._disk.bad(fault, after=calls):
            self._process.stdin.write("\n")
            self._process.stdin.flush()
            code = int(self._process.stdout.readline())
            return code, calls - self._disk.left

    def mend_with_bad_page(self, page: int) -> int:
        """Repair a file on a disk that does not give back one page; returns the exit code."""
        return self.mend(calls=page, fault="sector")[0]

    def stop(self) -> None:
        self._process.communicate()


@pytest.fixture
def mending(file: Path, bad_disk: Callable[[Path], Disk]) -> Iterator[Mending]:
    started = Mending(file, bad_disk(file))
    yield started
    started.stop()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state" / "journal.db"


def test_a_repair_that_is_killed_leaves_a_whole_file(file: Path, tmp_path: Path, mending: Mending) -> None:
    entries = fill(tmp_path / "made.db", 24, into=tmp_path / "damaged.db")
    overwrite(tmp_path / "damaged.db-wal", 0, 32)
    file.parent.mkdir()

    def damage() -> None:
        for old in file.parent.iterdir():
            old.unlink()
        for end in ("", "-wal"):
            shutil.copy(tmp_path / f"damaged.db{end}", f"{file}{end}")

    damage()
    code, calls = mending.mend(calls=10**6)
    assert (code, read(file)) == (0, entries)
    for moment in [*range(0, calls - LAST, EVERY), *range(calls - LAST, calls)]:
        damage()
        assert mending.mend(calls=moment)[0] == -signal.SIGKILL
        assert mending.mend(calls=10**6)[0] == 0
        assert read(file) == entries
        assert {path.name.partition(".damaged")[0] for path in file.parent.iterdir()} == {"journal.db"}


def test_pages_that_the_disk_does_not_give_back_are_left_out(file: Path, mending: Mending) -> None:
    file.parent.mkdir()
    entries = fill(file, 60)
    for page in (1, leaves(file)[5], leaves(file)[-1]):
        before = read(file)
        assert mending.mend_with_bad_page(page) == 0
        found = read(file)
        assert [one for one in entries if one in found] == found
        assert len(before) - 6 < len(found) < len(before) + (page == 1)
