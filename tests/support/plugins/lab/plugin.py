"""Does what handlers do, well and badly, as its intent says."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Any

Payload = dict[str, Any]


async def process(_payload: Payload, _context: dict[str, Any]) -> Any:
    return {
        "pid": os.getpid(),
        "parent": os.getppid(),
        "folder": os.path.basename(os.path.dirname(os.getcwd())),
    }


async def show_context(_payload: Payload, context: dict[str, Any]) -> Any:
    plain = (
        "request_id",
        "idempotency_key",
        "principal",
        "session",
        "config",
        "secrets",
        "data_dir",
        "locale",
    )
    return {name: context[name] for name in plain} | {"others": sorted(set(context) - set(plain))}


async def print_much(payload: Payload, _context: dict[str, Any]) -> Any:
    print(payload["line"])  # noqa: T201 - what it is here for
    print('{"jsonrpc": "2.0", "id": 1, "result": "not an answer"}')  # noqa: T201 - as above
    sys.stdout.write("half a line, ")
    sys.stdout.write("and the rest of it\n")
    sys.stderr.write("a complaint\n")
    sys.stderr.flush()
    os.write(1, b"written past Python\n")
    subprocess.run(["echo", "said by a child"], check=True)  # noqa: ASYNC221 - as plugins do
    return "printed"


async def log(payload: Payload, context: dict[str, Any]) -> Any:
    context["log"].info("looked up %s", payload["name"])
    context["log"].warning("it was not quite there")
    return "logged"


async def throw(payload: Payload, context: dict[str, Any]) -> Any:
    if "file" in payload:
        open(os.path.join(context["data_dir"], payload["file"])).close()  # noqa: ASYNC230 - as plugins do
    raise ValueError(payload.get("reason", "that went wrong\nand there is more to say about it"))


async def fail(payload: Payload, _context: dict[str, Any]) -> Any:
    return {"data": payload.get("data"), "error": payload["error"], "warning": payload.get("warning")}


def nested(depth: int) -> Any:
    sys.setrecursionlimit(20_000)
    value: Any = "the bottom"
    for _ in range(depth):
        value = [value]
    return value


GIFTS: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "text": lambda: "just text",
    "number": lambda: 42,
    "list": lambda: [1, "二", None],
    "set": lambda: {1, 2},
    "bytes": lambda: b"raw",
    "nan": lambda: {"data": float("nan")},
    "infinity": lambda: float("-inf"),
    "surrogate": lambda: "half \ud83d of a smile",
    "huge": lambda: 10**400,
    "deep": lambda: nested(300),
    "deeper": lambda: nested(1500),
    "other keys": lambda: {"data": 1, "more": 2},
    "warning": lambda: {"data": 1, "warning": "only the first page"},
}


async def give(payload: Payload, _context: dict[str, Any]) -> Any:
    return GIFTS[payload["what"]]()


async def big(payload: Payload, _context: dict[str, Any]) -> Any:
    return {"text": "x" * payload["size"]}


async def report(payload: Payload, context: dict[str, Any]) -> Any:
    for number in range(1, payload["lines"] + 1):
        await context["progress"](f"第 {number} step 🚶", 100 * number / payload["lines"])
    return "done"


ACTS: dict[str, Callable[[Payload, dict[str, Any]], Awaitable[Any]]] = {
    "lab.process": process,
    "lab.context": show_context,
    "lab.print": print_much,
    "lab.log": log,
    "lab.raise": throw,
    "lab.fail": fail,
    "lab.give": give,
    "lab.big": big,
    "lab.progress": report,
}


async def handle(message: dict[str, Any], context: dict[str, Any]) -> Any:
    return await ACTS[message["intent"]](message["payload"], context)
