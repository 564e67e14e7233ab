"""What `context["once"]` stands on: a key that one call holds at a time, and that remembers what it came to.

The state of a key outlives the process; a call holds a key as long as the worker has it. A key that nobody holds and
that is not done is unknown: it may have been done or not.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import time
from collections.abc import Awaitable, Iterable
from typing import Any

import orjson

from hermes.dispatch.live import Live
from hermes.dispatch.once_states import FREE, State, States
from hermes.host.workers.failures import RequestRefused
from hermes.messages import new_id
from hermes.sdk.wire import INVALID_PARAMS, METHOD_NOT_FOUND, STORE_AWAY

_LONGEST_KEY = 512  # characters
_MOST_KEYS = 1000  # that one call holds at a time
_ROUNDS = 10  # tries to take a key that others take at the same time


class Once:
    """All keys of this process; `states` outlive it."""

    def __init__(self, states: States) -> None:
        self._states = states
        self._process = new_id()
        self._here: set[str] = set()
        self._parting: dict[str, asyncio.Event] = {}  # calls that are over, but for what they asked for last
        self._held: dict[str, str] = {}  # the keys of living calls: known here even while the store is away

    def scope(self, live: Live, *, plugin: str, call: str) -> OnceScope:
        """Return what answers one call; its keys are those of its plugin, and of its message with all retries of it."""
        return OnceScope(self, live, plugin=plugin, holder=f"{self._process}:{call}")

    def enter(self, holder: str) -> None:
        """Let a call hold keys from now on."""
        self._here.add(holder)

    def part(self, holder: str) -> None:
        """Take note that a call is over, and that it lets go as soon as what it asked for last has been seen through."""
        self._parting.setdefault(holder, asyncio.Event())

    def leave(self, holder: str, names: Iterable[str]) -> None:
        """Let a call that held these keys hold nothing more."""
        self._here.discard(holder)
        if holder in self._parting:
            self._parting.pop(holder).set()
        for name in names:
            self._held.pop(name, None)

    async def begin(self, name: str, holder: str, *, first: bool, live: Live) -> State:
        """Take a key that is free, or that is not done and held by nobody; return what it was found to be.

        `first` says that nobody can have held it before.
        """
        for _ in range(_ROUNDS):
            kept = await self._states.read(name, first=first, live=live)
            state, held_by = kept.state, kept.state.get("holder")
            if state["state"] == "done":
                return await self._done(name, state, live=live)
            parting = self._parting.get(held_by or self._held.get(name, ""))
            if parting is not None and holder not in self._parting:  # else two might wait for each other
                await parting.wait()
                continue
            if held_by in self._here:
                settles = held_by == holder and state["state"] == "unknown"
                return {"state": "unknown" if settles else "running"}
            if self._held.get(name, holder) != holder:
                return {"state": "running"}
            found, taken = ("new", "running") if state == FREE else ("unknown", "unknown")
            mine = {"state": taken, "holder": holder, "at": time.time()}
            if kept.assumed or await self._states.swap(name, mine, kept=kept, live=live):
                self._held[name] = holder
                return {"state": found}
        raise RequestRefused("others take this key over and over", code=STORE_AWAY)

    async def settle(self, name: str, state: State, *, live: Live) -> None:
        """Write what came of a key that the caller holds."""
        await self._states.write(name, state, live=live)
        self._held.pop(name, None)

    async def _done(self, name: str, state: State, *, live: Live) -> State:
        """Return a result, and keep it longer, since it is still asked for."""
        with contextlib.suppress(RequestRefused):  # it is known all the same
            await self._states.write(name, state, live=live)
        # As it was written: around it, it may be nested too deeply to be written again.
        return {"state": "done", "result": orjson.Fragment(orjson.dumps(state["result"]))}


class OnceScope:
    """The keys of one call, from its first request until it has left the worker."""

    def __init__(self, once: Once, live: Live, *, plugin: str, holder: str) -> None:
        self._once = once
        self._live = live
        self._plugin = plugin
        self._holder = holder
        self._held: set[str] = set()
        self._begun: set[str] = set()
        self._running = 0
        self._left = False

    def answer(self, method: str, params: dict[str, Any]) -> Awaitable[Any]:
        """Answer a request of the wire, which may raise RequestRefused; until then nothing is let go."""
        self._once.enter(self._holder)
        self._running += 1
        return self._answered(method, params)

    def leave(self) -> None:
        """Hold nothing more, once what the worker asked for last has been seen through."""
        self._left = True
        if self._running:
            self._once.part(self._holder)
        self._let_go()

    async def _answered(self, method: str, params: dict[str, Any]) -> Any:
        try:
            if method not in {"once.begin", "once.done", "once.fail"}:
                raise RequestRefused(f"the host has no method {method!r}", code=METHOD_NOT_FOUND)
            name = self._name(params.get("key"))
            if method == "once.begin":
                return await self._begin(name)
            state = {"state": "done", "result": params.get("result")} if method == "once.done" else FREE
            return await self._settle(name, state)
        finally:
            self._running -= 1
            self._let_go()

    def _let_go(self) -> None:
        if self._left and not self._running:
            self._once.leave(self._holder, self._held)

    async def _begin(self, name: str) -> State:
        if len(self._held) >= _MOST_KEYS:
            raise RequestRefused(f"one call may hold {_MOST_KEYS} keys", code=INVALID_PARAMS)
        live = self._live
        first = live.record.attempts <= 1 and live.origin is None and name not in self._begun
        self._begun.add(name)
        found = await self._once.begin(name, self._holder, first=first, live=live)
        if found["state"] in {"new", "unknown"}:
            self._held.add(name)
        return found

    async def _settle(self, name: str, state: State) -> dict[str, Any]:
        if name not in self._held:
            raise RequestRefused("this call does not hold the key", code=INVALID_PARAMS)
        self._held.discard(name)  # a second word on it, sent at once, counts no more
        try:
            await self._once.settle(name, state, live=self._live)
        except BaseException:
            self._held.add(name)
            raise
        return {}

    def _name(self, key: Any) -> str:
        if not isinstance(key, str) or not key or len(key) > _LONGEST_KEY:
            raise RequestRefused(f"key must be a text of 1 to {_LONGEST_KEY} characters", code=INVALID_PARAMS)
        digest = hashlib.sha256(f"{self._live.chain}\0{key}".encode("utf-8", "surrogatepass")).hexdigest()
        return f"once/{self._plugin}/{digest}"
