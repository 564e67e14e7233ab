"""What takes the calls of a plugin: the contract of all workers, be they processes that speak the wire or not."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol

from hermes.host.workers.exchange import Caller, Pending
from hermes.values import value


@value
class Process:
    """A process of a worker as `GET /v1/plugins` lists it: `busy` counts calls, `since` is Unix seconds."""

    pid: int
    busy: int
    rss_bytes: int | None
    since: float


class Worker(Protocol):
    """Runs calls of one version of a plugin until it is closed or killed, or ends by itself.

    `busy` counts the places that are taken, `paused` the reasons to give it no call. Once `exited` is set every call
    has failed and no process is left.
    """

    since: float
    busy: int
    paused: int
    killed: bool
    exited: asyncio.Event

    @property
    def pid(self) -> int:
        """The process that it is, 0 if it is none."""

    def call(self, caller: Caller, params: Mapping[str, Any]) -> Pending:
        """Run the handler; the place it takes is given back by `on_idle`, whoever still waits by then.

        Raises TypeError, and takes no place, if `params` have no JSON form.
        """

    def cancel(self, call: str) -> None:
        """Ask the handler of a call to stop."""

    def ping(self) -> asyncio.Future[Any]:
        """Return a future that is done when the worker shows that it still listens, or fails with a CallEnded."""

    def processes(self) -> list[Process]:
        """Return what runs for it now."""

    def close(self) -> None:
        """Ask it to end."""

    def kill(self, reason: str = "") -> None:
        """End it with all of its processes; `reason` says what for, if that is not plain from its calls."""


class Listener(Protocol):
    """Who is told what a worker does; all are called on the event loop and must not block."""

    def on_log(self, worker: Worker, text: str, *, level: str, call: str | None) -> None:
        """Take a line that the plugin logged, printed or wrote to stderr; `call` is None if it belongs to none."""

    def on_idle(self, worker: Worker) -> None:
        """A call has left the worker: it has room again."""

    def on_exit(self, worker: Worker, reason: str) -> None:
        """The worker has ended and its calls have failed; `reason` is one line."""
