"""The specimen of runtime `process`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.support.specimens.base import Specimen

_WORKER = Path(__file__).parents[1] / "wire_workers" / "worker.sh"


@asynccontextmanager
async def specimen() -> AsyncIterator[Specimen]:
    """Give a worker in POSIX shell."""
    yield Specimen(
        {"runtime": "process", "command": ["./worker.sh"]}, {"worker.sh": _WORKER.read_text("utf-8")}
    )
