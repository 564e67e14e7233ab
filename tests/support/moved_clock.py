"""A clock that a test moves, for what is given one."""

from __future__ import annotations


class MovedClock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now
