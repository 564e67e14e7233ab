"""Where the states of `once` keys are kept: in the store, or on this machine as long as the store is away."""

from __future__ import annotations

import time
from typing import Any

import orjson

from hermes.dispatch.live import Live
from hermes.dispatch.sentences import say
from hermes.errors import StoreError
from hermes.host.workers.failures import RequestRefused
from hermes.sdk.wire import INVALID_PARAMS, STORE_AWAY
from hermes.stores.base import Store
from hermes.values import value

State = dict[str, Any]
"""`state` is free, running, unknown or done; `holder` of running and unknown, `result` of done."""

FREE: State = {"state": "free"}
_UNKNOWN: State = {"state": "unknown"}
_MARK = "/begun"


@value
class Kept:
    """What is kept of a key: its bytes, None for nothing, what they mean, and whether the spare has them.

    `assumed` says that the meaning is only a guess, made while the store is away, and not to be kept itself.
    """

    raw: bytes | None
    state: State
    spared: bool
    assumed: bool = False


class States:
    """Reads and writes the states of keys; each is kept for `ttl` seconds after it was written.

    `spare` is a store that is always there, None if `store` is. What `store` cannot take goes to `spare` and counts
    before it until it can, but for a result that `store` has. A mark in `spare` says of each key that it was begun, so
    that a store that lost its data makes none free. Every method raises RequestRefused if the state can be kept
    nowhere; it warns the message of what was kept on this machine alone.
    """

    def __init__(self, store: Store, spare: Store | None, *, ttl: float) -> None:
        self._store = store
        self._spare = spare
        self._ttl = ttl

    async def read(self, name: str, *, first: bool, live: Live) -> Kept:
        """Return what is known of a key. If the store is away, only a `first` attempt may take it for free."""
        spared = None
        try:
            spared = None if self._spare is None else await self._spare.get(name)
            if spared is not None and _state(spared)["state"] == "done":
                return Kept(spared, _state(spared), spared=True)
            raw = await self._store.get(name)
        except StoreError as error:
            await self._fall_back(name, error, live=live)
            if spared is None:
                return Kept(None, FREE if first else _UNKNOWN, spared=True, assumed=not first)
            return Kept(spared, _state(spared), spared=True)
        if spared is not None and _state(raw)["state"] != "done":  # which nothing that came later can undo
            return Kept(spared, _state(spared), spared=True)
        if raw is None and not first and await self._may_be_lost(name, live):
            return Kept(None, _UNKNOWN, spared=False)
        return Kept(raw, _state(raw), spared=False)

    async def _may_be_lost(self, name: str, live: Live) -> bool:
        """Say whether a key that nobody knows of may have been begun all the same: long ago, or in a store that forgot it."""
        if time.time() >= live.began_at + self._ttl:
            return True
        try:
            return self._spare is not None and await self._spare.get(name + _MARK) is not None
        except StoreError as error:
            raise _refused(error) from error

    async def swap(self, name: str, state: State, *, kept: Kept, live: Live) -> bool:
        """Put a new state in the place of what was read, if that is still there."""
        written = orjson.dumps(state)
        if not kept.spared:
            await self._mark(name)
            try:
                return await self._store.swap(name, written, expected=kept.raw, ttl=self._ttl)
            except StoreError as error:  # it may have been written all the same: the spare counts before it
                await self._fall_back(name, error, live=live)
        return await self._spare_swap(name, written, expected=kept.raw if kept.spared else None)

    async def write(self, name: str, state: State, *, live: Live) -> None:
        """Put a state in the place of whatever is there; done by who holds the key."""
        written = _written(state)
        try:
            if state == FREE:
                await self._store.delete(name)
                if self._spare is not None:
                    await self._spare.delete(name + _MARK)
            else:
                await self._store.put(name, written, ttl=self._ttl)
            if self._spare is not None and await self._spare.get(name) is not None:
                await self._spare.delete(name)
        except StoreError as error:
            spare = await self._fall_back(name, error, live=live)
            try:
                await spare.put(name, written, ttl=self._ttl)
            except StoreError as worse:
                raise _refused(worse) from worse

    async def _mark(self, name: str) -> None:
        """Keep on this machine that a key is begun."""
        if self._spare is None:
            return
        try:
            await self._spare.put(name + _MARK, b"", ttl=self._ttl)
        except StoreError as error:
            raise _refused(error) from error

    async def _spare_swap(self, name: str, written: bytes, *, expected: bytes | None) -> bool:
        if self._spare is None:
            raise RequestRefused("there is no such state", code=STORE_AWAY)
        try:
            return await self._spare.swap(name, written, expected=expected, ttl=self._ttl)
        except StoreError as error:
            raise _refused(error) from error

    async def _fall_back(self, name: str, error: StoreError, *, live: Live) -> Store:
        """Return the spare, and warn of it; raise RequestRefused if there is none or it does not work either."""
        if self._spare is None:
            raise _refused(error) from error
        try:
            await self._spare.get(name)
        except StoreError as worse:
            raise _refused(worse) from worse
        live.warn(say("kept_here", live.locale))
        return self._spare


def _state(raw: bytes | None) -> State:
    """Return what a value means; one that somebody has damaged says nothing of what was done."""
    if raw is None:
        return FREE
    try:
        state = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return _UNKNOWN
    known = isinstance(state, dict) and state.get("state") in {"free", "running", "unknown", "done"}
    if not known or (state["state"] == "done" and "result" not in state):
        return _UNKNOWN
    return dict(state)


def _written(state: State) -> bytes:
    try:
        return orjson.dumps(state)
    except TypeError as error:
        raise RequestRefused(f"the result cannot be kept: {error}", code=INVALID_PARAMS) from error


def _refused(error: StoreError) -> RequestRefused:
    return RequestRefused(
        f"what keeps it from being done twice cannot be kept now: {error.detail}", code=STORE_AWAY
    )
