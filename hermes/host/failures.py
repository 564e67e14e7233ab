"""How a call can end without a result: facts for whoever words the answer, no sentences for people."""

from __future__ import annotations

import signal

from hermes.sdk.wire import CANCELLED, PLUGIN_FAILED

_REASON = 1000  # characters of a worker's message that are kept


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

    @classmethod
    def of(cls, code: int, *, mute: bool, last_error: str) -> Crashed:
        """Return the failure that an exit code tells of, −n for signal n; `last_error` is what it wrote last to stderr.

        `mute` says that it was killed because it had closed its stdout.
        """
        how = "ended with " + (f"exit code {code}" if code >= 0 else f"signal {_signal_name(-code)}")
        if mute:
            how = "closed its stdout and was killed"
        return cls(f"the worker {how}" + (f": {last_error}" if last_error else ""))


class Raised(CallEnded):
    """The handler raised, or gave something that has no JSON form; `where` is `{"file", "line"}` if
    known, `code` that of the wire.
    """

    where: dict[str, object] | None = None
    code: int = PLUGIN_FAILED

    @classmethod
    def of(cls, error: object) -> Raised:
        """Return the failure that an error object of JSON-RPC tells of, its message as one line."""
        members = error if isinstance(error, dict) else {}
        message = members.get("message")
        reason = " ".join(message.split())[:_REASON] if isinstance(message, str) else ""
        if members.get("code") == CANCELLED:
            reason = "the handler was cancelled"
        failure = cls(reason or "the worker gave an error without a message")
        code = members.get("code")
        failure.code = code if type(code) is int else PLUGIN_FAILED
        where = members.get("data")
        failure.where = where if isinstance(where, dict) else None
        return failure


class RequestRefused(Exception):
    """What a handler asked for cannot be had; `code` is one of JSON-RPC's or the wire's own."""

    def __init__(self, reason: str, *, code: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code


class ResultTooLarge(CallEnded):
    """The answer was over the frame limit; the handler did finish."""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
