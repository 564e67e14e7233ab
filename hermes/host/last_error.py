"""What went wrong last with a plugin, as it is shown to operators."""

from __future__ import annotations

import time
from dataclasses import dataclass

from hermes.host.workers.failures import Raised


@dataclass(frozen=True, slots=True)
class LastError:
    """Why a plugin does not run, or last failed to; `file` is relative to its folder, `at` Unix seconds."""

    message: str
    file: str | None
    line: int | None
    at: float

    @classmethod
    def of(cls, error: Exception) -> LastError:
        """Return what an attempt to start a worker failed of."""
        where = (error.where if isinstance(error, Raised) else None) or {}
        file, line = where.get("file"), where.get("line")
        return cls(
            str(error),
            file if isinstance(file, str) else None,
            line if isinstance(line, int) else None,
            time.time(),
        )
