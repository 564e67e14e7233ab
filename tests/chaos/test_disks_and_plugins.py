"""A disk without room for the copy of a plugin: the version before serves, and the new one when there is room."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import StartDaemon
from tests.support.faults import Disk, Fault
from tests.support.saving import answer, make, says
from tests.support.waiting import until

SWEEPS = {"reload": {"sweep": 0.3, "debounce": 0.05}}


@pytest.mark.parametrize(
    ("fault", "reason", "after"),
    [
        ("full", "No space left on device", 0),
        ("full", "No space left on device", 2),
        ("readonly", "Read-only file system", 0),
    ],
)
def test_a_copy_for_which_there_is_no_room_leaves_the_old_version_serving_until_there_is(
    start_daemon: StartDaemon,
    tmp_path: Path,
    bad_disk: Callable[[Path], Disk],
    fault: Fault,
    reason: str,
    after: int,
) -> None:
    folder = make(tmp_path)
    (folder / "words.txt").write_text("词" * 100_000)
    staged = tmp_path / "state" / "staged" / "p"
    disk = bad_disk(staged)
    daemon = start_daemon(SWEEPS, environ=disk.environ)
    assert answer(daemon) == "one"
    with disk.bad(fault, after=after):
        (folder / "plugin.py").write_text(says("two"))
        error = until(lambda: daemon.plugin("p")["last_error"])
        assert error["message"] == reason
        assert answer(daemon) == "one"
        assert len(list(staged.iterdir())) == 1
    until(lambda: answer(daemon) == "two")
    until(lambda: len(list(staged.iterdir())) == 1)
    row = daemon.plugin("p")
    assert (row["reloads"], row["last_error"], row["state"]) == (1, None, "ready")
