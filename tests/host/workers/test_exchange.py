"""What a worker asks the host for is answered, and a call is known to have left exactly once, however it left."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from hermes.host.workers import wire
from hermes.host.workers.exchange import ASKED_AT_ONCE, Exchange
from hermes.host.workers.failures import Crashed, Raised, RequestRefused, ResultTooLarge
from tests.support.bench import eventually

Frame = dict[str, Any]


class Asked:
    """Who made a call: answers what its handler asks for with `reply`, and takes note of all it hears in `heard`."""

    def __init__(
        self, name: str = "c1", *, reply: Callable[[str, Frame], Awaitable[Any]] | None = None
    ) -> None:
        self.id = name
        self.heard: list[str] = []
        self._reply = reply

    def on_progress(self, text: str, _percent: float | None, /) -> None:
        self.heard.append(text)

    def on_request(self, method: str, params: Frame, /) -> Awaitable[Any]:
        self.heard.append(f"asked {params.get('key', '')}".strip())
        return _itself(params) if self._reply is None else self._reply(method, params)

    def on_left(self) -> None:
        self.heard.append("left")


async def _itself(params: Frame) -> Any:
    return {"state": "new", "of": params["call"]}


class Talk:
    """An exchange without a worker: `say` what one would write, `sent` is what it would read."""

    def __init__(self) -> None:
        self.sent: list[Frame] = []
        self.lines: list[str] = []
        self.idle = 0
        self.exchange = Exchange(self._send, on_log=self._on_log, on_idle=self._on_idle)

    def say(self, **frame: Any) -> None:
        self.exchange.feed(json.dumps({"jsonrpc": "2.0", **frame}).encode())

    def ask(self, request_id: Any, method: str = "once.begin", **params: Any) -> None:
        self.say(id=request_id, method=method, params=params)

    def call(self, caller: Asked) -> asyncio.Future[Any]:
        return self.exchange.request("handle", {"call": caller.id}, caller=caller).answer

    async def answers(self, count: int = 1) -> list[Frame]:
        """Return the answers to the worker, once there are so many; what Hermes asked before is left out."""
        await eventually(lambda: len(self._answers()) >= count)
        return self._answers()

    def _answers(self) -> list[Frame]:
        return [frame for frame in self.sent if "method" not in frame]

    def _send(self, frame: bytes) -> None:
        assert frame.endswith(b"\n")
        self.sent.append(json.loads(frame))

    def _on_log(self, text: str, *, level: str, call: str | None) -> None:
        assert (level, call) == ("warning", None)
        self.lines.append(text)

    def _on_idle(self) -> None:
        self.idle += 1


@pytest.fixture
async def talk() -> Talk:
    return Talk()


async def test_what_a_handler_asks_for_is_answered_under_its_own_id_in_any_order(talk: Talk) -> None:
    held = asyncio.Event()

    async def reply(_method: str, params: Frame) -> Any:
        if params["key"] == "慢":
            await held.wait()
        return params["key"]

    call = talk.call(Asked(reply=reply))
    talk.ask("w1", call="c1", key="慢")
    talk.ask(2, call="c1", key="快")
    assert await talk.answers() == [{"jsonrpc": "2.0", "id": 2, "result": "快"}]
    held.set()
    assert (await talk.answers(2))[1] == {"jsonrpc": "2.0", "id": "w1", "result": "慢"}
    assert not call.done()


async def test_a_request_for_no_call_that_is_here_is_refused_with_a_code_that_says_why(talk: Talk) -> None:
    talk.call(Asked("c1"))
    done = talk.call(Asked("c2"))
    talk.say(id=2, result=None)
    await done
    for params in ({"call": "c2"}, {"call": "c9"}, {}, None, ["c1"], "c1", {"call": {"c1": 1}}, {"call": ""}):
        talk.say(id=str(params), method="once.begin", params=params)
    codes = [(frame["id"], frame["error"]["code"]) for frame in await talk.answers(8)]
    assert codes[:2] == [("{'call': 'c2'}", -32602), ("{'call': 'c9'}", -32602)]
    assert {code for _, code in codes[2:]} == {-32601}


@pytest.mark.parametrize("result", [{1, 2}, 1 << 70, {"a": object()}], ids=["a set", "too large", "no JSON"])
async def test_a_refusal_is_told_and_an_unexpected_error_without_its_text_and_the_wire_lives_on(
    talk: Talk, result: Any
) -> None:
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: reported.append(context))

    async def reply(method: str, _params: Frame) -> Any:
        if method == "give":
            return result
        if method == "refuse":
            raise RequestRefused("存储不可用", code=-32010)
        raise LookupError("a secret of the host")

    call = talk.call(Asked(reply=reply))
    talk.ask("w1", "break", call="c1")
    talk.ask("w2", "give", call="c1")
    talk.ask("w3", "refuse", call="c1")
    error = {"code": -32603, "message": "the host could not answer"}
    errors = [error, error, {"code": -32010, "message": "存储不可用"}]
    assert [frame["error"] for frame in await talk.answers(3)] == errors
    assert [type(one["exception"]) for one in reported] == [LookupError, TypeError]
    talk.say(id=1, result="all the same")
    assert await call == "all the same"


async def test_of_more_requests_than_can_be_answered_at_once_the_rest_is_refused(talk: Talk) -> None:
    held = asyncio.Event()

    async def reply(_method: str, params: Frame) -> Any:
        await held.wait()
        return params["key"]

    talk.call(Asked(reply=reply))
    for number in range(ASKED_AT_ONCE + 44):
        talk.ask(number, call="c1", key=str(number))
    refused = await talk.answers(44)
    assert [frame["id"] for frame in refused] == list(range(ASKED_AT_ONCE, ASKED_AT_ONCE + 44))
    assert {frame["error"]["code"] for frame in refused} == {-32602}
    held.set()
    answered = {frame["id"]: frame["result"] for frame in (await talk.answers(ASKED_AT_ONCE + 44))[44:]}
    assert answered == {number: str(number) for number in range(ASKED_AT_ONCE)}
    talk.ask("later", call="c1", key="again")
    assert (await talk.answers(ASKED_AT_ONCE + 45))[-1]["result"] == "again"


@pytest.mark.parametrize("request_id", [True, 1.5, [1], {"id": 1}, 1 << 70, -(1 << 70)])
async def test_a_request_whose_id_cannot_be_answered_is_dropped_with_a_line_in_the_log(
    talk: Talk, request_id: Any
) -> None:
    caller = Asked()
    talk.call(caller)
    talk.ask(request_id, call="c1")
    talk.ask(None, call="c1")  # which makes it a notification, that asks for nothing
    talk.ask("", call="c1")
    talk.ask(-7, call="c1")
    assert [frame["id"] for frame in await talk.answers(2)] == ["", -7]
    assert len(talk.lines) == 1
    assert "id" in talk.lines[0]
    assert caller.heard == ["asked", "asked"]


async def test_an_integer_that_would_be_rounded_is_refused_before_anybody_is_asked(talk: Talk) -> None:
    caller = Asked()
    talk.call(caller)
    talk.ask("w1", "once.done", call="c1", key="k", result={"n": 1 << 64})
    assert (await talk.answers())[0]["error"]["code"] == -32602
    assert caller.heard == []


async def test_an_id_of_the_workers_that_is_one_of_hermes_too_answers_nothing(talk: Talk) -> None:
    call = talk.call(Asked())
    talk.ask(1, call="c1")
    assert (await talk.answers())[0] == {"jsonrpc": "2.0", "id": 1, "result": {"state": "new", "of": "c1"}}
    assert not call.done()
    talk.say(id="1", result="of nobody")
    talk.say(id=True, result="of nobody")
    talk.say(id=1, result="mine")
    assert await call == "mine"


async def _ends(talk: Talk, how: str) -> None:
    if how == "answer":
        talk.say(id=1, result="done")
    elif how == "error":
        talk.say(id=1, error={"code": -32000, "message": "坏了"})
    elif how == "too large":
        talk.exchange.feed(wire.Oversized(1))
    elif how == "no JSON":
        talk.exchange.feed(b'{"jsonrpc":"2.0","id":1,"result":NaN}')
    else:
        talk.exchange.close("the worker ended with signal SIGKILL")


ENDS = {
    "answer": type(None),
    "error": Raised,
    "too large": ResultTooLarge,
    "no JSON": Raised,
    "death": Crashed,
}


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("waits", [True, False])
async def test_a_call_leaves_once_however_it_ends_and_whoever_still_waits(
    talk: Talk, how: str, *, waits: bool
) -> None:
    caller = Asked()
    pending = talk.exchange.request("handle", {}, caller=caller)
    if not waits:
        pending.answer.cancel()
    assert not pending.left.is_set()
    await _ends(talk, how)
    assert (caller.heard, talk.idle, pending.left.is_set()) == (["left"], 1, True)
    for again in ENDS:
        await _ends(talk, again)
    assert (caller.heard, talk.idle) == (["left"], 1)
    if waits:
        assert type(pending.answer.exception()) is ENDS[how]


async def test_a_call_that_comes_after_the_end_leaves_at_once_and_takes_nothing(talk: Talk) -> None:
    talk.exchange.close("the worker ended with exit code 3")
    caller = Asked()
    pending = talk.exchange.request("handle", {}, caller=caller)
    assert (caller.heard, talk.idle, talk.sent) == (["left"], 0, [])
    with pytest.raises(Crashed, match="exit code 3"):
        await pending.answer


async def test_what_was_asked_is_seen_through_when_the_worker_dies_meanwhile(talk: Talk) -> None:
    held, seen = asyncio.Event(), asyncio.Event()

    async def reply(_method: str, params: Frame) -> Any:
        await held.wait()
        seen.set()

    call = talk.call(Asked(reply=reply))
    talk.ask("w1", "once.done", call="c1", key="k")
    await asyncio.sleep(0)
    talk.exchange.close("the worker ended with signal SIGKILL")
    held.set()
    await seen.wait()
    with pytest.raises(Crashed):
        await call


@pytest.mark.parametrize("how", ENDS)
async def test_what_was_asked_with_the_last_breath_is_asked_before_the_call_has_left(
    talk: Talk, how: str
) -> None:
    """A worker that writes both at once must not look as if it had let go of what it still settles."""
    caller = Asked()
    call = talk.call(caller)
    talk.ask("w1", "once.done", call="c1", key="k", result=1)
    await _ends(talk, how)
    await asyncio.wait((call,))
    await talk.answers()
    assert caller.heard == ["asked k", "left"]
    assert ENDS[how] is type(None) or isinstance(call.exception(), ENDS[how])


async def test_frames_are_taken_in_the_order_in_which_they_were_written(talk: Talk) -> None:
    caller = Asked()
    call = talk.call(caller)
    for number in range(3):
        talk.say(method="progress", params={"call": "c1", "text": f"步骤 {number}"})
        talk.ask(f"w{number}", call="c1", key=str(number))
    talk.say(id=1, result=None)
    talk.say(method="progress", params={"call": "c1", "text": "too late"})
    talk.ask("late", call="c1")
    await call
    order = [word for number in range(3) for word in (f"步骤 {number}", f"asked {number}")]
    assert caller.heard == [*order, "left"]
    assert {frame["id"]: frame.get("error", {}).get("code") for frame in await talk.answers(4)} == {
        "w0": None,
        "w1": None,
        "w2": None,
        "late": -32602,
    }
