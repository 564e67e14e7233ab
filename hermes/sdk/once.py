"""`context["once"]`: a side effect that happens once for a message, however often the message is tried.

What is kept is the host's affair; here is only who may run, and when what came of it is told.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from hermes.sdk.requests import Refused, Requests
from hermes.sdk.wire import encode, text_of

KEY_CHARS = 512

_ROUNDS = 3  # times that a key may turn out not to be done and be somebody else's a moment later
_ANSWER_SECONDS = 10.0
_LAST_SECONDS = 1.0  # of the two that a cancelled call is given


class StillRunning(Exception):
    """The key is held by a call that is alive; nothing was run."""


class OutcomeUnknown(Exception):
    """Whether the side effect has happened cannot be told; nothing was run. `make` may raise it too."""


class ResultLost(OutcomeUnknown, TypeError):
    """The side effect has happened, and what `make` or `lookup` returned has no JSON form, so it cannot be kept."""


class NotDone(Exception):
    """What `lookup` raises when it is certain that the side effect has not happened: it is run then."""


class OnceUnavailable(RuntimeError):
    """The host cannot say what is known of a key; nothing was run."""


class Once:
    """`await context["once"]("issue", make)`: run `make` unless it has been run for this message before.

    Keys belong to the plugin and the message's `idempotency_key`: a retry meets the same ones.
    """

    def __init__(self, requests: Requests, call: str, *, log: logging.Logger) -> None:
        self._requests = requests
        self._call = call
        self._log = log
        self._under_way: set[str] = set()
        self._left_open: set[str] = set()  # that this call holds and has not told how it went

    async def __call__(
        self,
        key: str,
        make: Callable[[], Awaitable[Any]],
        *,
        lookup: Callable[[], Awaitable[Any]] | None = None,
    ) -> Any:
        """Return what `make` returns, or what it has returned in an earlier attempt, as JSON gives it back.

        `make` and `lookup` are async and take no argument. If `make` raises, the key is free for the next attempt;
        if it is cancelled, dies with its process or raises OutcomeUnknown, the key is unknown. Then `lookup` asks the
        outside world: it returns the result, which is kept, or raises NotDone, and `make` runs. Whatever else it
        raises leaves the key unknown.

        Raises:
            StillRunning, OutcomeUnknown, OnceUnavailable: see there; each is raised before anything has run, but for
                OutcomeUnknown of `make` or `lookup`.
            ValueError: `key` is no text of 1 to 512 characters.
            ResultLost: what `make` or `lookup` returned has no JSON form, a TypeError as well. The key is unknown from
                then on.
        """
        _check_key(key)
        if key in self._under_way:
            raise StillRunning(f"this call is at {key!r} already")
        self._under_way.add(key)
        try:
            return await self._attempt(key, make, lookup=lookup)
        finally:
            self._under_way.discard(key)

    async def _attempt(
        self, key: str, make: Callable[[], Awaitable[Any]], *, lookup: Callable[[], Awaitable[Any]] | None
    ) -> Any:
        for _ in range(_ROUNDS):
            state, result = await self._begin(key)
            if state == "done":
                return result
            if state == "new":
                return await self._run(key, make)
            if state == "running" and key not in self._left_open:
                break
            if lookup is None:
                raise OutcomeUnknown(f"an earlier attempt at {key!r} ended without telling how it went")
            try:
                result = await lookup()
            except NotDone:
                if _being_cancelled():
                    raise
                await self._settle("once.fail", key)
            else:
                return await self._keep(key, result)
        raise StillRunning(f"another call is at {key!r} right now")

    async def _begin(self, key: str) -> tuple[str, Any]:
        try:
            answer = await self._granted(key)
        except Refused as refused:
            raise OnceUnavailable(str(refused)) from None
        except TimeoutError:
            raise OnceUnavailable(f"the host gave no answer within {_ANSWER_SECONDS:g} s") from None
        except OSError as error:
            raise OnceUnavailable(str(error)) from None
        state = _state(answer)
        if state not in ("new", "done", "running", "unknown"):
            raise OnceUnavailable(f"the host answered {answer!r:.100}")
        return state, answer.get("result")

    async def _granted(self, key: str) -> Any:
        answer = self._requests.ask("once.begin", {"call": self._call, "key": key})
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                return await asyncio.shield(answer)
        except (asyncio.CancelledError, TimeoutError):
            # A key that is granted all the same, and never begun, would read as unknown afterwards.
            answer.add_done_callback(functools.partial(self._give_back, key))
            await asyncio.wait([answer], timeout=_LAST_SECONDS)
            raise

    def _give_back(self, key: str, answer: asyncio.Future[Any]) -> None:
        """Free a key that was granted to a call that had given up by then."""
        if answer.cancelled() or answer.exception() is not None or _state(answer.result()) != "new":
            return
        with contextlib.suppress(OSError):  # the host is gone, and with it everything that was held
            self._requests.ask("once.fail", {"call": self._call, "key": key}).cancel()

    async def _run(self, key: str, make: Callable[[], Awaitable[Any]]) -> Any:
        self._left_open.add(key)
        try:
            result = await _awaited(make)
        except OutcomeUnknown:
            raise
        except Exception:
            if not _being_cancelled():
                await self._settle("once.fail", key)
            raise
        return await self._keep(key, result)

    async def _keep(self, key: str, result: Any) -> Any:
        try:
            kept = json.loads(encode({"result": result}))["result"]
        except Exception as error:  # members of the result may be of the plugin's own classes
            # It has happened, so the key must not become free.
            reason = f"{type(error).__name__}: {text_of(error)}"
            raise ResultLost(
                f"the result of {key!r} cannot be written as JSON and is lost: {reason}"
            ) from error
        await self._settle("once.done", key, result=kept)
        return kept

    async def _settle(self, method: str, key: str, **more: Any) -> None:
        """Tell the host how it went; the frame is out before a cancellation can come in between."""
        self._left_open.discard(key)
        try:
            answer = self._requests.ask(method, {"call": self._call, "key": key, **more})
            async with asyncio.timeout(_ANSWER_SECONDS):
                await answer
        except (Refused, OSError) as error:
            reason = str(error) or "no answer in time"
            self._log.warning("what became of %r could not be kept: %s", key, reason)


def _check_key(key: str) -> None:
    if not isinstance(key, str) or not 0 < len(key) <= KEY_CHARS:
        raise ValueError(f"the key of once must be a text of 1 to {KEY_CHARS} characters")
    key.encode()  # half a character has no form on the wire and would make two keys one


async def _awaited(make: Callable[[], Awaitable[Any]]) -> Any:
    pending = make()
    if not inspect.isawaitable(pending):
        raise OutcomeUnknown("make is not async: it has run, and what came of it is lost")
    return await pending


def _state(answer: Any) -> Any:
    return answer.get("state") if isinstance(answer, dict) else None


def _being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
