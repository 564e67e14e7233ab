"""The one error tree of Hermes: every error has a stable code, a readable sentence and a verdict on retrying.

The codes are those of the public contract: problem codes for a request that is refused, error codes for an
envelope. How a code is shown (HTTP status, exit code, log line) is decided where it is shown, not here.
"""

from __future__ import annotations

from collections.abc import Sequence


class HermesError(Exception):
    """Base of everything Hermes raises on purpose.

    `detail` is one sentence for the person who can do something about it; it never holds a secret, a stack
    trace or a path that the reader did not name. `retryable` says whether the same call may work later.
    """

    code = "internal"
    retryable = False

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


# Requests that are refused before anything is kept.


class Refused(HermesError):
    """A request that was not accepted: nothing was stored and nothing will run."""


class Malformed(Refused):
    """The body is not JSON, or not an object."""

    code = "malformed"


class InvalidField(Refused):
    """A field is unknown, missing, of the wrong type or out of range; `field` names it."""

    code = "invalid_field"

    def __init__(self, detail: str, *, field: str | None = None) -> None:
        super().__init__(detail)
        self.field = field


class Unauthorized(Refused):
    """No key, or not a known one."""

    code = "unauthorized"


class Forbidden(Refused):
    """Known, but without the right to do this."""

    code = "forbidden"


class NotFound(Refused):
    """No such thing, or not the caller's."""

    code = "not_found"


class Conflict(Refused):
    """The state of the named thing does not allow this."""

    code = "conflict"


class AlreadyDecided(Conflict):
    """Somebody has decided this before."""

    code = "already_decided"


class Expired(AlreadyDecided):
    """Nobody has decided this in time."""


class TooLarge(Refused):
    """The body is over `limits.body_bytes`."""

    code = "too_large"


class UnsupportedMediaType(Refused):
    """The body is declared to be something other than JSON."""

    code = "unsupported_media_type"


class RateLimited(Refused):
    """Too much is waiting already; `retry_after` is in seconds."""

    code = "rate_limited"
    retryable = True

    def __init__(self, detail: str, *, retry_after: int) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class Unavailable(Refused):
    """Hermes cannot keep a message now (shutting down, no journal); `retry_after` is in seconds."""

    code = "unavailable"
    retryable = True

    def __init__(self, detail: str, *, retry_after: int = 5) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


# Things that are wrong on this machine.


class ConfigError(HermesError):
    """hermes.yaml, a manifest or the environment is wrong; the daemon, or that plugin, does not start.

    `str()` reads `file:line: key: what is wrong; what to do`, leaving out what is not known.
    """

    code = "invalid_config"

    def __init__(
        self, detail: str, *, file: str | None = None, line: int | None = None, key: str | None = None
    ) -> None:
        super().__init__(detail)
        self.file = file
        self.line = line
        self.key = key

    def __str__(self) -> str:
        where = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        return ": ".join(part for part in (where, self.key, self.detail) if part)

    @property
    def problems(self) -> tuple[ConfigError, ...]:
        """Everything that is wrong, one error each."""
        return (self,)


class ConfigErrors(ConfigError):
    """Several things are wrong with one file.

    File, line, key and `detail` are those of the first; `str()` has a line for each of `problems`.
    """

    def __init__(self, problems: Sequence[ConfigError]) -> None:
        first = problems[0]
        super().__init__(first.detail, file=first.file, line=first.line, key=first.key)
        self._problems = tuple(problems)

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self._problems)

    @property
    def problems(self) -> tuple[ConfigError, ...]:
        """Everything that is wrong, one error each, in the order of the lines."""
        return self._problems


class StartError(HermesError):
    """The daemon cannot start here: the port is taken, the state directory cannot be written."""

    code = "cannot_start"


class JournalError(HermesError):
    """The journal could not read or write; what was asked for did not happen."""

    code = "unavailable"
    retryable = True


class StoreError(HermesError):
    """The store could not read or write."""

    code = "unavailable"
    retryable = True
