"""A call of a plugin on its way through the host: what is asked, and what its caller wants to hear meanwhile."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from hermes.messages import HermesMessage
from hermes.values import value


@value
class Call:
    """One attempt to run one message.

    `id` is unique among the calls of this process; `context` is what travels beside the message on the wire;
    `timeout` counts in seconds from `on_started`, which is awaited when a worker is there for the call and before it
    runs.
    """

    id: str
    message: HermesMessage
    context: Mapping[str, Any]
    timeout: float
    on_started: Callable[[], Awaitable[None]]
    on_progress: Callable[[str, float | None], None]

    def params(self) -> dict[str, Any]:
        """Return the parameters of the wire's `handle`."""
        context = {**self.context, "deadline_ms": round(self.timeout * 1000)}
        return {"call": self.id, "message": self.message, "context": context}
