"""A wall clock that goes wrong when a test says so, under a real process; built from clock.c with the system's compiler."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.support.faults import build

SOURCE = Path(__file__).with_suffix(".c")


class WallClock:
    """The wall clock as the processes see it that were started with `environ`; what plugins run in does not."""

    def __init__(self, folder: Path) -> None:
        self._control = folder / "clock"
        self._control.write_bytes(bytes(8))
        self.environ: Mapping[str, str] = {
            "LD_PRELOAD": str(build(folder, SOURCE)),
            "CLOCK_CONTROL": str(self._control),
        }

    def step(self, ahead: int) -> None:
        """Put the clock so many seconds ahead of the right time, or behind it."""
        with self._control.open("r+b") as control:
            control.write(ahead.to_bytes(8, "little", signed=True))
