"""How a call can end without a result: facts for whoever words the answer, no sentences for people."""

from __future__ import annotations


class CallEnded(Exception):
    """Base of all ways in which a call gives no result; `reason` is one line for the log and for operators."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Unavailable(CallEnded):
    """The call never started: no healthy worker, or it waited longer than `limits.queue_wait`."""


class TimedOut(CallEnded):
    """The handler did not answer within `seconds`; it was told to stop and may have taken effect."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no answer within {seconds:g} s")
        self.seconds = seconds


class Crashed(CallEnded):
    """The worker process died while the call ran, which may have taken effect."""


class Raised(CallEnded):
    """The handler raised, or gave something that has no JSON form; `where` is `{"file", "line"}` if known."""

    where: dict[str, object] | None = None


class ResultTooLarge(CallEnded):
    """The answer was over the frame limit; the handler did finish."""
