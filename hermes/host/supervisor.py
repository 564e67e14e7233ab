"""Owns one plugin over all of its versions: which one serves, what calls came to, and whether any are let through."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

from hermes.host.breaker import Breaker, State
from hermes.host.crew import Watch
from hermes.host.generation import Generation
from hermes.host.last_error import LastError
from hermes.host.plugin import Plugin
from hermes.host.statistics import Statistics
from hermes.host.workers.calls import Call
from hermes.host.workers.failures import (
    CallEnded,
    Crashed,
    Disabled,
    Raised,
    ResultTooLarge,
    Superseded,
    TimedOut,
)
from hermes.host.workers.worker import Process
from hermes.sdk.wire import INVALID_PARAMS, NOT_JSON, OUTCOME_UNKNOWN, STILL_RUNNING
from hermes.values import value

_REMEMBERED = 64  # deaths of workers that are counted once each
_ENVELOPE = {"data", "error", "warning", "elapsed_ms"}  # with other members it is data, whatever it says
_ANSWERS = {NOT_JSON, STILL_RUNNING, OUTCOME_UNKNOWN}  # errors of a handler that came to its end
_BREAKER_METRIC = {"closed": 0, "half_open": 1, "open": 2}
REMOVED = "its folder is gone"


@value
class BreakerSettings:
    """Failures in a row that open the breaker, and seconds until a probe; `clock` is monotonic."""

    threshold: int = 3
    cooldown: float = 30.0
    clock: Callable[[], float] = time.monotonic


class Supervisor:
    """The plugin of one name, from its first version to its last.

    `discard` is called, and awaited, with every version that has been seen out.
    """

    def __init__(
        self,
        generation: Generation,
        *,
        breaker: BreakerSettings,
        watch: Watch,
        discard: Callable[[Plugin], Coroutine[Any, Any, None]],
    ) -> None:
        self.name = generation.plugin.manifest.name
        self.current = generation
        self.statistics = Statistics()
        self.reloads = 0
        self.refused: LastError | None = None
        """Why the newest version on disk does not serve, None if it does."""
        self.disabled = False
        self._breaker_settings = breaker
        self._discard = discard
        self._metrics = watch.metrics
        self._log = watch.log.bind(plugin=self.name)
        self._deaths: list[object] = []
        self._draining: set[Generation] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.breaker = self._new_breaker()
        watch.metrics.queue_depth.labels(self.name).set_function(lambda: self.current.pool.depth)
        watch.metrics.breaker_state.labels(self.name).set_function(
            lambda: _BREAKER_METRIC[self.breaker.state]
        )

    @property
    def plugin(self) -> Plugin:
        """The version that serves."""
        return self.current.plugin

    @property
    def state(self) -> str:
        """What `GET /v1/plugins` calls it."""
        if self.disabled:
            return "disabled"
        return "failed" if self.current.broken else "ready"

    @property
    def last_error(self) -> LastError | None:
        """What went wrong last with loading it or starting its workers."""
        return self.refused or self.current.last_error

    @property
    def draining(self) -> list[Generation]:
        """Earlier versions that still run calls."""
        return list(self._draining)

    def start(self) -> None:
        """Begin to start workers in the background."""
        if not self.disabled:
            self.current.start()

    async def stop(self) -> None:
        """End the workers of every version."""
        await asyncio.gather(self.current.stop(), *(one.stop() for one in self._draining))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def has_room(self) -> bool:
        """Say whether a call would start at once."""
        return self.breaker.state == "closed" and self.current.pool.has_room

    async def run(self, plugin: Plugin, call: Call) -> Any:
        """Run a call and return what the handler returned; raises a CallEnded if it returned nothing.

        Superseded says that `plugin` is not the version that serves.
        """
        generation = self.current
        if generation.plugin is not plugin:
            raise Superseded("another version serves by now")
        if self.disabled:
            raise Disabled
        breaker = self.breaker
        settled = False
        probe = breaker.admit()
        try:
            answer = await generation.run(call, self.statistics, confirm=lambda: breaker.confirm(probe=probe))
            settled = True
            if _is_upstream_failure(answer):
                self.statistics.failures += 1
                breaker.fail(probe=probe)
            else:
                breaker.succeed(probe=probe)
        except (TimedOut, Crashed, Raised, ResultTooLarge) as failure:
            settled = True
            self._judge(failure, breaker, probe=probe)
            raise
        finally:
            if not settled:
                breaker.abandon(probe=probe)
        return answer

    def replace(self, generation: Generation) -> None:
        """Let another version serve from now on; the one before finishes its calls and is let go."""
        self._retire(self.current, lambda: Superseded("another version serves by now"))
        self.reloads += self.current.usable and not self.disabled
        self.current = generation
        self.disabled = False
        self.refused = None
        self.breaker = self._new_breaker()
        generation.start()

    def disable(self) -> None:
        """Take no calls; running ones finish, then the workers leave."""
        self.disabled = True
        self._own(self.current.retire(Disabled))

    def remove(self, on_gone: Callable[[Supervisor], None]) -> None:
        """Take no calls any more; `on_gone` is told when those that run have ended."""
        self._retire(self.current, lambda: Superseded(REMOVED))
        self._own(self._tell(on_gone))

    def processes(self) -> list[Process]:
        """Return what runs for it now, earlier versions included."""
        return [one for generation in {self.current, *self._draining} for one in generation.processes()]

    async def _tell(self, on_gone: Callable[[Supervisor], None]) -> None:
        while self._draining:
            await asyncio.wait({task for task in self._tasks if task is not asyncio.current_task()})
        on_gone(self)

    def forget(self) -> None:
        """Leave the metrics: no plugin of this name is there any more."""
        for gauge in (self._metrics.queue_depth, self._metrics.breaker_state):
            gauge.remove(self.name)

    def _retire(self, generation: Generation, why: Callable[[], CallEnded]) -> None:
        self._draining.add(generation)
        self._own(self._see_out(generation, why))

    async def _see_out(self, generation: Generation, why: Callable[[], CallEnded]) -> None:
        try:
            await generation.retire(why)
            await self._discard(generation.plugin)
        finally:
            self._draining.discard(generation)

    def _judge(self, failure: CallEnded, breaker: Breaker, *, probe: bool) -> None:
        if isinstance(failure, Crashed):
            if failure.death in self._deaths and not probe:
                return
            self._deaths = [*self._deaths[-_REMEMBERED:], failure.death]
            breaker.fail(probe=probe)
        elif isinstance(failure, Raised) and failure.code == INVALID_PARAMS:
            breaker.abandon(probe=probe)  # nothing ran
        elif isinstance(failure, ResultTooLarge) or (
            isinstance(failure, Raised) and failure.code in _ANSWERS
        ):
            breaker.succeed(probe=probe)
        else:
            breaker.fail(probe=probe)

    def _new_breaker(self) -> Breaker:
        settings = self._breaker_settings

        def on_change(state: State, failures: int) -> None:
            if self.breaker is breaker:  # else an earlier version's last calls tell of it
                self._on_breaker(state, failures)

        breaker = Breaker(settings.threshold, settings.cooldown, clock=settings.clock, on_change=on_change)
        return breaker

    def _on_breaker(self, state: State, failures: int) -> None:
        level = "warning" if state == "open" else "info"
        getattr(self._log, level)(f"breaker_{state}", failures=failures)
        if state == "open":
            self.current.pool.refuse(self.breaker.refusal)

    def _own(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _is_upstream_failure(answer: Any) -> bool:
    is_envelope = isinstance(answer, dict) and answer.keys() <= _ENVELOPE
    error = answer.get("error") if is_envelope else None
    return isinstance(error, dict) and error.get("code") == "upstream_unavailable"
