"""Run a plugin's handler in a test, without a process: what it returns is read as the daemon would read it.

    handle = load(Path(__file__).parent)  # of a test that lies beside the plugin
    outcome = await run(handle, {"text": "hello"})
    assert outcome.data == {"text": "hello"}

What `context["once"]` keeps is gone after the call, unless the call brings a store that outlives it:

    call = Call(once=OnceStore())
    first, again = await run(handle, {}, call=call), await run(handle, {}, call=call)

What `context["send"]` is answered is the test's to say, by intent; an answer is read as that of a handler:

    call = Call(send={"ticket.get": {"data": {"title": "down"}}, "ticket.close": lambda payload: payload["id"]})

It checks neither the manifest nor the payload against its schema; `hermes check` and the daemon do that.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import logging
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from hermes.sdk.context import WireHandler, build_context
from hermes.sdk.once_store import Kept, OnceStore
from hermes.sdk.requests import Requests
from hermes.sdk.wire import INVALID_PARAMS, Wire, encode
from hermes.sdk.worker import Handler

__all__ = ["Call", "Kept", "Line", "OnceStore", "Outcome", "Sent", "load", "run"]

_ENVELOPE = frozenset({"data", "error", "warning"})
_WITHOUT_HANDLER = frozenset({"executable", "process", "http"})
_SENT = _ENVELOPE | {"elapsed_ms"}  # what `send` gives, which a handler may hand on as it is


@dataclass(frozen=True, slots=True)
class Call:
    """The facts around a call that most tests can leave alone. `timeout` is in seconds."""

    intent: str = ""
    request_id: str = "test-1"
    session_id: str = "test-session"
    source: str = "api"
    timeout: float = 60.0
    data_dir: Path | None = None
    """Where the plugin may write; None gives it a fresh folder that is gone after the call."""
    once: OnceStore | None = None
    """What `context["once"]` knows: the same store in two calls makes the second a retry of the first."""
    send: Mapping[str, Any | Callable[[dict[str, Any]], Any]] = field(default_factory=dict)
    """What `context["send"]` is answered, by intent, or a function that makes that of the payload; all else is refused."""
    session: Mapping[str, Any] = field(default_factory=dict)
    principal: Mapping[str, Any] = field(
        default_factory=lambda: {"kind": "local", "id": "local", "person": None}
    )


@dataclass(frozen=True, slots=True)
class Line:
    """One line of progress; `percent` is None where the handler gave none."""

    text: str
    percent: float | None = None


@dataclass(frozen=True, slots=True)
class Sent:
    """A message that the handler sent with `context["send"]`."""

    intent: str
    payload: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to: `data`, `error` and `warning` as in the envelope, and what was told on the way.

    `error` is None or `{"code", "message", "retryable"}`; `logs` are the lines given to `context["log"]`, `sent` the
    messages given to `context["send"]`.
    """

    data: Any
    error: dict[str, Any] | None
    warning: str | None
    progress: tuple[Line, ...]
    logs: tuple[str, ...]
    sent: tuple[Sent, ...] = ()


class _Transcript(Wire):
    """A wire that leads nowhere: it keeps what the handler sends, if that could be sent at all, and answers it."""

    def __init__(self, store: OnceStore, answers: Mapping[str, Any]) -> None:
        self._frames: list[dict[str, Any]] = []
        self._store = store
        self._answers = answers
        self.requests = Requests(self)

    def send(self, frame: dict[str, Any]) -> None:
        frame = json.loads(encode(frame))
        self._frames.append(frame)
        if "id" in frame:
            answer = {"id": frame["id"]} | self._answer(frame["method"], frame["params"])
            asyncio.get_running_loop().call_soon(self.requests.accept, json.loads(encode(answer)))

    def _answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method != "send":
            return self._store.answer(method, params)
        intent = params["intent"]
        if intent not in self._answers:
            reason = f"the test has no answer for {intent!r}; give it one with Call(send={{{intent!r}: …}})"
            return {"error": {"code": INVALID_PARAMS, "message": reason}}
        answer = self._answers[intent]
        given = answer(params["payload"]) if callable(answer) else answer
        return {"result": {"elapsed_ms": 0.0} | _envelope(given)}

    def sent(self, method: str) -> list[dict[str, Any]]:
        return [frame["params"] for frame in self._frames if frame["method"] == method]


def load(folder: Path) -> Handler:
    """Import a plugin from its folder, each time anew, and return the handler that its manifest names.

    Raises:
        ValueError: its runtime is one that has no handler.
        FileNotFoundError: the folder has no manifest, or no module of the name in its `entry`.
        AttributeError: the module has no such function.
    """
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8-sig"))
    runtime = manifest.get("runtime")
    if runtime in _WITHOUT_HANDLER:
        raise ValueError(
            f"the runtime of {folder.name} is {runtime}, which has no handler to load;"
            f" `hermes plugins new NAME --runtime {runtime}` makes a test that fits"
        )
    module_name, _, name = manifest.get("entry", "plugin:handle").partition(":")
    package = folder / module_name / "__init__.py"
    file = package if package.exists() else folder / f"{module_name}.py"
    # The folder is part of the name: two plugins whose modules are called `plugin` must not meet.
    spec = importlib.util.spec_from_file_location(f"{folder.name}.{module_name}", file)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return cast("Handler", getattr(module, name or "handle"))


async def run(
    handle: Handler,
    payload: Mapping[str, Any],
    *,
    config: Mapping[str, Any] | None = None,
    secrets: Mapping[str, str] | None = None,
    locale: str = "en",
    call: Call | None = None,
) -> Outcome:
    """Call `handle` once as the worker would and return what came of it.

    `config` is the plugin's section of hermes.yaml, `secrets` the variables of its manifest's `env`, `locale`
    is "zh" or "en".

    Raises:
        TimeoutError: the handler took longer than `call.timeout`.
        TypeError, ValueError: payload, progress or result has no JSON form (NaN has none).
        Exception: whatever the handler raised; the daemon turns it into `plugin_error`.
    """
    call = call or Call()
    with tempfile.TemporaryDirectory(prefix="hermes-") as folder:
        setup = {
            "config": dict(config or {}),
            "secrets": dict(secrets or {}),
            "data_dir": str(call.data_dir or folder),
            "locale": locale,
        }
        store = call.once or OnceStore()
        transcript = _Transcript(store, call.send)
        params = json.loads(encode(_params(payload, call)))
        log, requests = _log(transcript), transcript.requests
        context = build_context(transcript, params, setup=setup, requests=requests, log=log)
        try:
            async with asyncio.timeout(call.timeout):
                result = await handle(params["message"], context)
        finally:
            store.leave(params["call"])
    return _outcome(json.loads(encode({"result": result}))["result"], transcript)


def _params(payload: Mapping[str, Any], call: Call) -> dict[str, Any]:
    message = {
        "request_id": call.request_id,
        "session_id": call.session_id,
        "intent": call.intent,
        "payload": dict(payload),
        "source": call.source,
        "timestamp": time.time(),
    }
    context = {
        "session": dict(call.session),
        "principal": dict(call.principal),
        "idempotency_key": call.request_id,
        "deadline_ms": call.timeout * 1000,
    }
    return {"call": f"test-{uuid.uuid4()}", "message": message, "context": context}


def _log(transcript: _Transcript) -> logging.Logger:
    log = logging.Logger("plugin", logging.INFO)  # not from getLogger: a test must leave no logger behind
    log.addHandler(WireHandler(transcript))
    return log


def _envelope(result: Any) -> dict[str, Any]:
    members = result.keys() if isinstance(result, dict) else set()
    is_envelope = members == _SENT or (members <= _ENVELOPE and members & {"data", "error"})
    envelope = result if is_envelope else {"data": result}
    error = envelope.get("error")
    if isinstance(error, str):
        error = {"code": "plugin_error", "message": error}
    return {
        "data": envelope.get("data"),
        "error": None if error is None else {"retryable": False} | error,
        "warning": envelope.get("warning"),
    }


def _outcome(result: Any, transcript: _Transcript) -> Outcome:
    return Outcome(
        **_envelope(result),
        progress=tuple(Line(line["text"], line.get("percent")) for line in transcript.sent("progress")),
        logs=tuple(line["text"] for line in transcript.sent("log")),
        sent=tuple(Sent(one["intent"], one["payload"]) for one in transcript.sent("send")),
    )
