"""What tests of bad days share: disks that go bad when they say so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.faults import Disk, build


@pytest.fixture(scope="session")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that makes disks bad."""
    return build(tmp_path_factory.mktemp("faults"))


@pytest.fixture
def bad_disk(faults: Path, tmp_path: Path) -> Callable[[Path], Disk]:
    """Return a disk under the files whose path begins so, for processes that are started with its `environ`."""
    return lambda files: Disk(faults, files, control=tmp_path / "disk")
