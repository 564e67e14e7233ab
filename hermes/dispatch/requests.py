"""What a call may ask of Hermes while it runs, each kind handed to who answers it."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from hermes.dispatch.once import OnceScope
from hermes.dispatch.sends import SendScope
from hermes.host.workers.calls import refuse_request


class Requests:
    """The requests of one call: `once.…` and `send`, and no others."""

    def __init__(self, once: OnceScope, send: SendScope) -> None:
        self._once = once
        self._send = send

    def answer(self, method: str, params: dict[str, Any]) -> Awaitable[Any]:
        """Answer a request of the wire, which may raise RequestRefused."""
        if method == "send":
            return self._send.answer(params)
        if method.startswith("once."):
            return self._once.answer(method, params)
        return refuse_request(method, params)

    def leave(self) -> None:
        """Take note that the call has left its worker: what it asked for last is still seen through."""
        self._once.leave()
        self._send.leave()
