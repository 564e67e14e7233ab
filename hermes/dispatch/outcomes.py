"""What a call came to, as an envelope: a handler's answer brought into form, or a failure put into words."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from typing import Any

from hermes.dispatch.sentences import Locale, say
from hermes.host.workers.failures import (
    BreakerOpen,
    CallEnded,
    Crashed,
    Disabled,
    NoRoom,
    Raised,
    ResultTooLarge,
    TimedOut,
)
from hermes.messages import ERROR_CODE_PATTERN, ErrorInfo, ResultEnvelope
from hermes.sdk.wire import OUTCOME_UNKNOWN, STILL_RUNNING

_MEMBERS = {"data", "error", "warning"}
_SENT = {*_MEMBERS, "elapsed_ms"}  # what `send` gives, so that a handler can hand it on as it is
_SENTENCE = 1000  # characters of an error's sentence
_is_code = re.compile(ERROR_CODE_PATTERN).fullmatch


def from_answer(answer: Any, elapsed_ms: float, *, locale: Locale) -> ResultEnvelope:
    """Return the envelope of what a handler returned.

    An object whose members are among data, error and warning, with data or error, is an envelope already, and so is the
    whole one of a message that the handler has sent; any other JSON value is the data itself.
    """
    if not isinstance(answer, dict) or not _is_envelope(answer.keys()):
        return ResultEnvelope(data=answer, elapsed_ms=elapsed_ms)
    warning = answer.get("warning")
    return ResultEnvelope(
        data=answer.get("data"),
        error=_error(answer.get("error"), locale),
        elapsed_ms=elapsed_ms,
        warning=None if warning is None else str(warning),
    )


def _is_envelope(members: AbstractSet[str]) -> bool:
    return members == _SENT or (members <= _MEMBERS and not members.isdisjoint({"data", "error"}))


def from_failure(
    failure: CallEnded, elapsed_ms: float, *, locale: Locale, writes: bool, repeatable: bool, limit: int
) -> ResultEnvelope:
    """Return the envelope of a call that gave no result.

    `writes` says that it may have changed something, `repeatable` that doing it again would do no harm.
    """
    if isinstance(failure, TimedOut):
        error = ErrorInfo(
            "plugin_timeout", say("plugin_timeout", locale, seconds=f"{failure.seconds:g}"), repeatable
        )
    elif isinstance(failure, Crashed):
        error = ErrorInfo("plugin_crashed", say("plugin_crashed", locale), repeatable)
    elif isinstance(failure, Raised):
        error = _raised(failure, locale)
        writes = failure.code == OUTCOME_UNKNOWN  # else it ended by its own account
    elif isinstance(failure, ResultTooLarge):
        error = ErrorInfo("result_too_large", say("result_too_large", locale, limit=limit))
        writes = False
    else:
        error = ErrorInfo("plugin_unavailable", _unavailable(failure, locale), retryable=True)
        writes = False
    warning = say("may_have_taken_effect", locale) if writes else None
    return ResultEnvelope(error=error, elapsed_ms=elapsed_ms, warning=warning)


def _unavailable(failure: CallEnded, locale: Locale) -> str:
    if isinstance(failure, Disabled):
        return say("plugin_disabled", locale)
    if isinstance(failure, NoRoom):
        return say("no_room", locale, seconds=f"{failure.seconds:g}")
    if not isinstance(failure, BreakerOpen):
        return say("plugin_unavailable", locale, reason=failure.reason)
    if not failure.retry_in:
        return say("breaker_probing", locale, failures=failure.failures)
    return say("breaker_open", locale, failures=failure.failures, seconds=failure.retry_in)


def _raised(failure: Raised, locale: Locale) -> ErrorInfo:
    if failure.code == STILL_RUNNING:
        return ErrorInfo("plugin_error", say("still_running", locale), retryable=True)
    if failure.code == OUTCOME_UNKNOWN:
        return ErrorInfo("plugin_error", say("outcome_unknown", locale))
    return ErrorInfo("plugin_error", say("plugin_error", locale, reason=failure.reason))


def failed(
    code: str, message: str, *, data: Any = None, warning: str | None = None, elapsed_ms: float = 0.0
) -> ResultEnvelope:
    """Return the envelope of a message that ends without an answer of a plugin."""
    return ResultEnvelope(data=data, error=ErrorInfo(code, message), elapsed_ms=elapsed_ms, warning=warning)


def _error(error: Any, locale: Locale) -> ErrorInfo | None:
    if error is None:
        return None
    members = error if isinstance(error, dict) else {"message": error}
    code = str(members.get("code", ""))
    message = members.get("message") or code or (members if any(members.values()) else "")
    sentence = str(message)[:_SENTENCE] or say("plugin_error", locale, reason="?")
    return ErrorInfo(code if _is_code(code) else "plugin_error", sentence, members.get("retryable") is True)
