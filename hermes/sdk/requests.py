"""What the worker asks the host: requests of its own and their answers. What they mean is not its affair."""

from __future__ import annotations

import asyncio
from typing import Any

from hermes.sdk.wire import Wire


class Refused(Exception):
    """The host answered a request with an error: `code` is that of JSON-RPC, the text one sentence."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class WireClosed(ConnectionError):
    """The host has closed the wire: no answer can come any more."""


class Requests:
    """Sends requests with ids of the worker's own, `w1`, `w2` …; to be used from the event loop alone."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._last_id = 0
        self._waiting: dict[str, asyncio.Future[Any]] = {}
        self._closed = False

    def ask(self, method: str, params: dict[str, Any]) -> asyncio.Future[Any]:
        """Write a request before anything is awaited, and return the future of its result.

        The future may fail with Refused or WireClosed, and may be given up. How long to wait is the caller's to say.

        Raises:
            WireClosed: the host has closed the wire already.
            OSError: the frame cannot be written.
            TypeError, ValueError: the parameters have no JSON form.
        """
        if self._closed:
            raise WireClosed("the host has closed the wire")
        self._last_id += 1
        request_id = f"w{self._last_id}"
        self._wire.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = answer
        answer.add_done_callback(lambda _: self._waiting.pop(request_id, None))
        return answer

    def accept(self, frame: dict[str, Any]) -> None:
        """Take a frame without a method; one that answers nothing that is still waited for is ignored."""
        request_id = frame.get("id")
        answer = self._waiting.pop(request_id, None) if isinstance(request_id, str) else None
        if answer is None or answer.done():
            return
        error = frame.get("error")
        if error is None:
            answer.set_result(frame.get("result"))
        else:
            answer.set_exception(_refused(error))

    def close(self) -> None:
        """Fail everything that waits, and every later request: the host is gone."""
        self._closed = True
        waiting, self._waiting = self._waiting, {}
        for answer in waiting.values():
            if not answer.done():
                answer.set_exception(WireClosed("the host has closed the wire"))


def _refused(error: Any) -> Refused:
    """Read an error of JSON-RPC, whatever shape it came in."""
    given = error if isinstance(error, dict) else {"message": error}
    code = given.get("code")
    return Refused(code if isinstance(code, int) else 0, str(given.get("message") or "no reason was given"))
