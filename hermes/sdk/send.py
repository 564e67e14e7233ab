"""`context["send"]`: ask another plugin, by a message of its own; the only way in which plugins reach one another."""

from __future__ import annotations

from typing import Any

from hermes.sdk.once import StillRunning
from hermes.sdk.requests import Refused, Requests
from hermes.sdk.wire import STILL_RUNNING


class SendRefused(RuntimeError):
    """The host did not take the message, and nothing was run; the text says why."""


class Send:
    """`envelope = await context["send"]("ticket.get", {"id": 7})`: run an intent, and wait for what it comes to.

    Messages are numbered in the order in which they are sent: a handler that is run again has to send the same ones in
    the same order, and is given what has become of them.
    """

    def __init__(self, requests: Requests, call: str) -> None:
        self._requests = requests
        self._call = call

    async def __call__(self, intent: str, payload: dict[str, Any]) -> dict[str, Any]:
        """Return the envelope: `data`, `error` (None or `code`, `message`, `retryable`), `elapsed_ms` and `warning`.

        A message that fails raises nothing; look at `error`. It has as much time as this call has left. Who is
        cancelled while it waits does not stop the message, unless the whole call is cancelled.

        Raises:
            TypeError: `intent` is no text, `payload` is no dict, or something in it has no JSON form.
            ValueError: `intent` is empty, or `payload` holds NaN, Infinity or itself.
            SendRefused: see there; too many messages, or not those that an earlier attempt has sent.
            StillRunning: an earlier try at this message has sent the same, which has not ended yet.
        """
        if not isinstance(intent, str):
            raise TypeError(f"the intent to send must be a text; it is {type(intent).__name__}")
        if not intent:
            raise ValueError("the intent to send is empty; name one")
        if not isinstance(payload, dict):
            raise TypeError(f"the payload to send must be a dict; it is {type(payload).__name__}")
        try:
            params = {"call": self._call, "intent": intent, "payload": payload}
            envelope: dict[str, Any] = await self._requests.ask("send", params)
        except Refused as refused:
            kind = StillRunning if refused.code == STILL_RUNNING else SendRefused
            raise kind(str(refused)) from None
        return envelope
