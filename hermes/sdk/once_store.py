"""What `once` keeps, in memory: the host's half of it for tests of plugins. It outlives no process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from hermes.sdk.wire import INVALID_PARAMS, METHOD_NOT_FOUND, STORE_AWAY


@dataclass(frozen=True, slots=True)
class Kept:
    """What is known of a key: `done` with its result, `running` in a call that is alive, or `unknown`.

    An unknown one may be in the hands of a call that is about to settle it.
    """

    state: Literal["done", "running", "unknown"]
    result: Any = None


class OnceStore:
    """The keys of one message and its retries; a key that is not in `kept` is free.

    `kept` may be looked at and changed between two calls, or during one. While `away` is true every request is
    refused, as it is when the daemon cannot reach its store.
    """

    def __init__(self, kept: Mapping[str, Kept] | None = None) -> None:
        self.kept = dict(kept or {})
        self.away = False
        self._holders: dict[str, str] = {}

    def answer(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a request of a worker; return `{"result": …}` or `{"error": …}`."""
        steps = {"once.begin": self._begin, "once.done": self._done, "once.fail": self._fail}
        step = steps.get(method)
        if step is None:
            return _error(METHOD_NOT_FOUND, f"the host has no method {method!r}")
        if self.away:
            return _error(STORE_AWAY, "the store cannot be reached")
        if method != "once.begin" and self._holders.get(params["key"]) != params["call"]:
            return _error(INVALID_PARAMS, "this call does not hold the key")
        return {"result": step(params)}

    def leave(self, call: str) -> None:
        """End a call: what it holds and has not settled is unknown from now on."""
        for key in [key for key, holder in self._holders.items() if holder == call]:
            del self._holders[key]
            self.kept[key] = Kept("unknown")

    def _begin(self, params: Mapping[str, Any]) -> dict[str, Any]:
        key, call = params["key"], params["call"]
        kept, holder = self.kept.get(key), self._holders.get(key)
        if kept is not None and kept.state == "done":
            return {"state": "done", "result": kept.result}
        if kept is not None and (kept.state == "running" or holder not in (None, call)):
            return {"state": "running"}
        self._holders[key] = call
        self.kept[key] = kept or Kept("running")
        return {"state": "new" if kept is None else "unknown"}

    def _done(self, params: Mapping[str, Any]) -> dict[str, Any]:
        del self._holders[params["key"]]
        self.kept[params["key"]] = Kept("done", params["result"])
        return {}

    def _fail(self, params: Mapping[str, Any]) -> dict[str, Any]:
        del self._holders[params["key"]], self.kept[params["key"]]
        return {}


def _error(code: int, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}
