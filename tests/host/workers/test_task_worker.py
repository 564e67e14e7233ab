from __future__ import annotations

import asyncio
import weakref
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from hermes.host.workers.exchange import Caller, Pending
from hermes.host.workers.failures import CallEnded, Crashed, Raised, ResultTooLarge
from hermes.host.workers.task_worker import Log, TaskWorker
from hermes.host.workers.worker import Process, Worker
from hermes.sdk.wire import CANCELLED

Work = Callable[[dict[str, Any], Log], Awaitable[Any]]


class Trade:
    """A runner that does what the test wants, and notes what it is told."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self.told: list[str] = []

    async def run(self, _caller: Caller, params: dict[str, Any], /, *, log: Log) -> Any:
        return await self._work(params, log)

    def processes(self) -> list[Process]:
        return [Process(7, 1, None, 0.0)]

    def kill(self, reason: str) -> None:
        self.told.append(f"kill {reason}")

    async def close(self) -> None:
        self.told.append("close")


class Ear:
    """Who listens to the worker and makes its calls."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.lines: list[tuple[str, str, str | None]] = []

    def on_log(self, _worker: Worker, text: str, *, level: str, call: str | None) -> None:
        self.lines.append((level, text, call))

    def on_idle(self, worker: Worker) -> None:
        self.heard.append(f"idle {worker.busy}")

    def on_exit(self, _worker: Worker, reason: str) -> None:
        self.heard.append(f"exit: {reason}")

    @property
    def id(self) -> str:
        return "c1"

    def on_progress(self, text: str, _percent: float | None, /) -> None:
        self.heard.append(text)

    async def on_request(self, method: str, _params: dict[str, Any], /) -> Any:
        raise AssertionError(method)

    def on_left(self) -> None:
        self.heard.append("left")


def begin(work: Work) -> tuple[TaskWorker, Trade, Ear, Pending]:
    """Make a worker and one call of it."""
    trade, ear = Trade(work), Ear()
    worker = TaskWorker(trade, ear)
    worker.busy += 1
    return worker, trade, ear, worker.call(ear, {"call": "c1", "n": 3})


async def answer(params: dict[str, Any], _log: Log) -> Any:
    return params["n"] + 1


async def wait_for_ever(_params: dict[str, Any], _log: Log) -> Any:
    await asyncio.Event().wait()


async def test_a_call_comes_to_what_its_runner_returns_and_gives_its_place_back() -> None:
    worker, _, ear, pending = begin(answer)
    assert await pending.answer == 4
    assert pending.left.is_set()
    assert ear.heard == ["left", "idle 0"]
    assert (worker.pid, worker.paused, worker.processes()[0].pid) == (0, 0, 7)


async def test_what_has_no_json_form_is_refused_before_a_task_begins() -> None:
    worker = TaskWorker(Trade(answer), ear := Ear())
    with pytest.raises(TypeError):
        worker.call(ear, {"call": "c1", "n": {1, 2}})
    assert ear.heard == []
    worker.close()
    await worker.exited.wait()


async def test_a_ping_is_answered_at_once() -> None:
    worker, *_ = begin(wait_for_ever)
    assert worker.ping().done()
    worker.kill()
    await worker.exited.wait()


@pytest.mark.parametrize("failure", [Raised("没有这个项目"), Crashed("gone"), ResultTooLarge("16 MiB")])
async def test_a_failure_of_the_runner_is_that_of_the_call(failure: CallEnded) -> None:
    async def fail(_params: dict[str, Any], _log: Log) -> Any:
        raise failure

    worker, _, ear, pending = begin(fail)
    with pytest.raises(type(failure)) as ended:
        await pending.answer
    assert ended.value is failure
    # Of a process that crashed the log has to tell: nothing else does.
    assert len(ear.lines) == isinstance(failure, Crashed)
    assert worker.busy == 0


async def test_a_failure_holds_on_to_nothing_that_was_read_for_it() -> None:
    read: list[weakref.ref[Ear]] = []

    async def fail(_params: dict[str, Any], _log: Log) -> Any:
        content = Ear()  # in truth it is many megabytes
        read.append(weakref.ref(content))
        try:
            dict[Ear, None]()[content]
        except KeyError as error:
            raise Raised("cannot be read") from error

    _, _, _, pending = begin(fail)
    with pytest.raises(Raised) as ended:
        await pending.answer
    assert read[0]() is None
    assert ended.value.reason == "cannot be read"


async def test_an_unexpected_error_is_one_readable_line_and_a_trace_in_the_log() -> None:
    async def stumble(_params: dict[str, Any], log: Log) -> Any:
        log("before", level="debug")
        raise KeyError("项目")

    _, _, ear, pending = begin(stumble)
    with pytest.raises(Raised) as ended:
        await pending.answer
    assert ended.value.reason == "KeyError: '项目'"
    (before, trace) = ear.lines
    assert before == ("debug", "before", "c1")
    assert (trace[0], trace[2]) == ("error", "c1")
    assert "in stumble" in trace[1]


async def test_cancelling_ends_the_task_and_waits_for_its_tidying_up() -> None:
    begun, tidied = asyncio.Event(), asyncio.Event()

    async def tidy_up(_params: dict[str, Any], _log: Log) -> Any:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await tidied.wait()

    worker, _, ear, pending = begin(tidy_up)
    await begun.wait()
    worker.cancel("c1")
    worker.cancel("c1")  # which must not interrupt the tidying up
    worker.cancel("another")
    for _ in range(10):
        await asyncio.sleep(0)
    assert not pending.left.is_set()
    tidied.set()
    with pytest.raises(Raised, match="cancelled") as ended:
        await pending.answer
    assert ended.value.code == CANCELLED
    assert ear.heard == ["left", "idle 0"]


async def test_a_call_that_is_cancelled_before_its_first_step_ends_too() -> None:
    worker, _, ear, pending = begin(wait_for_ever)
    worker.cancel("c1")
    with pytest.raises(Raised):
        await pending.answer
    assert ear.heard == ["left", "idle 0"]


async def test_an_answer_that_nobody_waits_for_any_more_is_dropped() -> None:
    worker, _, ear, pending = begin(answer)
    pending.answer.cancel()
    await pending.left.wait()
    assert worker.busy == 0
    assert ear.heard == ["left", "idle 0"]


async def test_closing_ends_the_calls_then_lets_go_and_tells_once() -> None:
    worker, trade, ear, pending = begin(wait_for_ever)
    worker.close()
    worker.close()
    await worker.exited.wait()
    with pytest.raises(Crashed, match="the worker was closed"):
        await pending.answer
    assert ear.heard == ["left", "idle 0", "exit: the worker was closed"]
    assert trade.told == ["close"]
    assert not worker.killed


async def test_killing_says_why_and_calls_that_fall_together_share_their_death() -> None:
    worker, trade, ear, first = begin(wait_for_ever)
    second = worker.call(_Another(), {"call": "c2"})
    worker.kill("used 600 MB, more than limits.memory_mb 512")
    await worker.exited.wait()
    ends = [one.answer.exception() for one in (first, second)]
    assert all(isinstance(end, Crashed) for end in ends)
    assert len({end.death for end in ends if isinstance(end, Crashed)}) == 1
    assert str(ends[0]) == "the worker used 600 MB, more than limits.memory_mb 512"
    assert worker.killed
    assert trade.told == ["kill used 600 MB, more than limits.memory_mb 512", "close"]
    assert ear.heard[-1] == "exit: the worker used 600 MB, more than limits.memory_mb 512"


class _Another(Ear):
    @property
    def id(self) -> str:
        return "c2"


async def test_a_call_of_a_worker_that_is_gone_fails_at_once() -> None:
    worker, _, ear, pending = begin(answer)
    await pending.answer
    worker.close()
    await worker.exited.wait()
    late = worker.call(ear, {"call": "c1"})
    assert late.left.is_set()
    with pytest.raises(Crashed):
        await late.answer


async def test_a_runner_that_cannot_let_go_does_not_keep_the_worker_from_ending() -> None:
    class Clinging(Trade):
        async def close(self) -> None:
            raise OSError("busy")

    loop, told = asyncio.get_running_loop(), []
    loop.set_exception_handler(lambda _loop, context: told.append(context["message"]))
    worker = TaskWorker(Clinging(answer), ear := Ear())
    worker.close()
    await worker.exited.wait()
    assert ear.heard == ["exit: the worker was closed"]
    assert told == ["a runner could not let go of what it kept"]
