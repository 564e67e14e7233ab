"""Waiting in tests: on a condition, never for a length of time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")
_PAUSE = 0.01


def until(condition: Callable[[], _T | None], *, seconds: float = 15) -> _T:
    """Return the first value of `condition` that counts as true; fail if there is none within `seconds`."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"still {value!r} after {seconds:g} s"
        time.sleep(_PAUSE)
    return value
