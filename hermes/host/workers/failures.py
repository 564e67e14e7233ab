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


class Disabled(Unavailable):
    """The call was not taken: an admin has disabled the plugin."""

    def __init__(self) -> None:
        super().__init__("it is disabled; an admin can enable it again")


class NoRoom(Unavailable):
    """The call waited `seconds` for a worker, and there was none with room."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no worker had room within {seconds:g} s")
        self.seconds = seconds


class BreakerOpen(Unavailable):
    """The call was not let through after `failures` in a row; `retry_in` seconds are left, 0 while a probe runs."""

    def __init__(self, failures: int, retry_in: int) -> None:
        when = f"it is tried again in {retry_in} s" if retry_in else "one call tries it now"
        super().__init__(f"its last {failures} calls failed; {when}")
        self.failures = failures
        self.retry_in = retry_in


class Superseded(CallEnded):
    """The call never started: another version of the plugin serves by now, and is to be asked."""


class TimedOut(CallEnded):
    """The handler did not answer within `seconds`; it was told to stop and may have taken effect."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no answer within {seconds:g} s")
        self.seconds = seconds


class Crashed(CallEnded):
    """The worker process died while the call ran, which may have taken effect.

    Calls that fell with the same process have the same `death`.
    """

    def __init__(self, reason: str, death: object = None) -> None:
        super().__init__(reason)
        self.death = self if death is None else death

    @classmethod
    def of(cls, code: int, *, why: str, last_error: str) -> Crashed:
        """Return the failure that an exit code tells of, −n for signal n; `last_error` is what it wrote last to stderr.

        `why` says instead what Hermes killed it for, such as "closed its stdout and was killed".
        """
        how = why or "ended with " + (f"exit code {code}" if code >= 0 else f"signal {_signal_name(-code)}")
        return cls(f"the worker {how}" + (f": {last_error}" if last_error else ""))


class Raised(CallEnded):
    """The handler raised, or gave something that has no JSON form; `where` is `{"file", "line"}` if
    known, `code` that of the wire.
    """

    where: dict[str, object] | None = None

    def __init__(self, reason: str, *, code: int = PLUGIN_FAILED) -> None:
        super().__init__(reason)
        self.code = code

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
