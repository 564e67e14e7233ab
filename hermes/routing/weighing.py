"""Keeps a router at the learned weights of a file: reads it when it changes, and fits it to the intents that there are."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

from hermes.errors import ConfigError
from hermes.observe.logs import Logger
from hermes.routing.learned import Learned
from hermes.routing.lexicon import IntentEntry, Lexicon
from hermes.routing.router import Router
from hermes.routing.weights import Weights, fingerprint, read_weights

_Stamp = tuple[int, ...]


class Weighing:
    """Follows `path`; a file that cannot be used leaves what was read before in force, and `trouble` says why.

    A file that is not there is no trouble: the router goes by hand-written keywords then.
    """

    def __init__(self, router: Router, path: Path, *, log: Logger) -> None:
        self._router = router
        self._path = path
        self._log = log
        self._stamp: _Stamp | None = None
        self._weights: Weights | None = None
        self._fitted: tuple[Weights | None, frozenset[str]] = (None, frozenset())
        self._learned: Learned | None = None  # the weights as they are fitted
        self._changed = asyncio.Event()
        self.trouble: str | None = None

    def prepared(self, entries: Iterable[IntentEntry]) -> Lexicon:
        """Return a lexicon of `entries` that goes by what is learned so far; `tell` what it is used for afterwards."""
        current = self._router.lexicon
        return Lexicon(entries, current.learned, like=current)

    def tell(self) -> None:
        """Have `run` look whether the file or the intents have changed."""
        self._changed.set()

    async def run(self) -> None:
        """Look at once and whenever `tell` was called, until cancelled."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            await self.look()

    async def look(self) -> None:
        """Read the file if it has changed, and put weights for the router's intents in force; it does not raise."""
        try:
            await self._look()
        except Exception as error:  # noqa: BLE001 - one file that nobody foresaw must not be the last that is followed
            self._stamp = ()  # the next look reads it again
            self.trouble = f"the router's weights were not followed: {error}"
            self._log.exception("router_weights_not_followed", file=str(self._path))

    async def _look(self) -> None:
        stamp = _stamp(self._path)
        if stamp != self._stamp:
            self._stamp = stamp
            await self._read(gone=stamp is None)
        intents = frozenset(entry.intent for entry in self._router.intents)
        if self._fitted != (self._weights, intents):
            await self._fit(intents)
        lexicon = self._router.lexicon
        # One that was prepared before the weights were there may have come into force after them.
        if lexicon.learned is not self._learned:
            self._router.use(Lexicon(lexicon.entries, self._learned, like=lexicon))

    async def _read(self, *, gone: bool) -> None:
        if gone:
            if self._weights is not None:
                self._log.warning("router_weights_gone", file=str(self._path))
            self._weights, self.trouble = None, None
            return
        try:
            weights, known_by = await asyncio.to_thread(_read, self._path)
        except ConfigError as error:
            problems = [str(problem) for problem in error.problems]
            self.trouble = f"the router's weights are refused as they are now: {problems[0]}"
            self._log.error("router_weights_refused", file=str(self._path), problems=problems)
            return
        self._weights, self.trouble = weights, None
        self._log.info(
            "router_weights",
            file=str(self._path),
            hash=known_by,
            intents=len(weights.intents),
            rows=weights.rows,
            learned_at=weights.learned_at,
        )

    async def _fit(self, intents: frozenset[str]) -> None:
        """Fit the weights to the intents, beside the event loop."""
        weights = self._weights
        self._learned = None if weights is None else await asyncio.to_thread(Learned.fitted, weights, intents)
        self._fitted = (weights, intents)


def _read(path: Path) -> tuple[Weights, str]:
    """Return what is in the file, and its hash for whoever wants to know which it is."""
    return read_weights(path), fingerprint(path)


def _stamp(path: Path) -> _Stamp | None:
    """Return what changes with the file, its permissions included; None if there is none."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:  # then it may be there, and reading it says what is wrong
        return (error.errno or 0,)
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino
