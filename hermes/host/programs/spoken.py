"""What a program says on stderr while it runs: lines of progress and lines for the log, in any amount."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass

_LINE = 8192  # bytes; what a line has beyond is left out
_PROGRESS_LINES = 32  # of one portion of output: more could not be told to anybody, so the newest win
_LOG_LINES = 1000  # of one call
_LAST_WORDS = 300  # characters
_progress = re.compile(r"::progress(?:\s+(\d{1,9}(?:\.\d{1,9})?)\s*%?)?\s*::\s*(.*)", re.DOTALL).fullmatch


@dataclass(slots=True)
class Portion:
    """What came at once: lines of progress with their percentage, if they have one, and other lines."""

    progress: deque[tuple[str, float | None]]
    logged: list[str]


class Spoken:
    """Cuts stderr into lines, long ones short; `last` is the last line that was no progress.

    `left_out` counts the lines that are beyond what a log should have of one call.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._skipping = False
        self._logged = 0
        self.last = ""
        self.left_out = 0

    def feed(self, chunk: bytes) -> Portion:
        """Return what the lines say that `chunk` completes."""
        *lines, rest = chunk.split(b"\n")
        portion = Portion(deque(maxlen=_PROGRESS_LINES), [])
        for line in lines:
            self._keep(line)
            self._complete(portion)
        self._keep(rest)
        return portion

    def finish(self) -> Portion:
        """Return what a last line without an end says."""
        return self.feed(b"\n")

    def _keep(self, part: bytes) -> None:
        if not self._skipping:
            self._rest += part[: _LINE + 1 - len(self._rest)]
            self._skipping = len(self._rest) > _LINE

    def _complete(self, portion: Portion) -> None:
        line, cut = self._rest[:_LINE].rstrip(b"\r"), self._skipping
        self._rest, self._skipping = b"", False
        text = line.decode("utf-8", "replace") + ("…" if cut else "")
        found = _progress(text) if text.startswith("::progress") else None
        if found is not None:
            portion.progress.append((found[2].strip(), float(found[1]) if found[1] else None))
        elif text.strip():
            self.last = text.strip()[:_LAST_WORDS]
            self._log(text, portion)

    def _log(self, text: str, portion: Portion) -> None:
        self._logged += 1
        if self._logged <= _LOG_LINES:
            portion.logged.append(text)
        else:
            self.left_out += 1
