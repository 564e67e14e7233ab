"""A call of a plugin on its way through the host: what is asked, and what its caller wants to hear meanwhile."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from hermes.host.workers.failures import RequestRefused
from hermes.messages import HermesMessage
from hermes.sdk.wire import METHOD_NOT_FOUND
from hermes.values import value


async def refuse_request(method: str, _params: dict[str, Any]) -> Any:
    """Answer a handler that asks for what nobody gives it."""
    raise RequestRefused(f"the host has no method {method!r}", code=METHOD_NOT_FOUND)


def ignore_leaving() -> None:
    """Take note of nothing: who calls does not need to know when the worker lets go."""


@value
class Call:
    """One attempt to run one message.

    `id` is unique among the calls of this process; `context` is what travels beside the message on the wire;
    `timeout` counts in seconds from `on_started`, which is awaited when a worker is there for the call and before it
    runs. The other three are told what the worker says of the call, as `Caller` has it.
    """

    id: str
    message: HermesMessage
    context: Mapping[str, Any]
    timeout: float
    on_started: Callable[[], Awaitable[None]]
    on_progress: Callable[[str, float | None], None]
    on_request: Callable[[str, dict[str, Any]], Awaitable[Any]] = refuse_request
    on_left: Callable[[], None] = ignore_leaving

    def params(self) -> dict[str, Any]:
        """Return the parameters of the wire's `handle`."""
        context = {**self.context, "deadline_ms": round(self.timeout * 1000)}
        return {"call": self.id, "message": self.message, "context": context}
