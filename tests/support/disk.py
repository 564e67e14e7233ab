"""A disk without room for tests, made by the limit that the system puts on the size of files."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def no_room(folder: Path) -> Iterator[None]:
    """Let this process make no file larger than the largest in `folder` is now, as if the disk were full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    largest = max(file.stat().st_size for file in folder.iterdir() if file.is_file())
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
