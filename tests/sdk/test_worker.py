from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hermes.sdk.wire import CANCELLED
from tests.support.by_hand import ByHand

ECHO = "async def handle(message, context):\n    return message['payload']\n"
WAIT = """
import asyncio

async def handle(message, context):
    if message["payload"].get("wait"):
        await asyncio.sleep(600)
    return {"data": "完成"}
"""


def test_a_worker_answers_initialize_and_then_calls_until_it_is_shut_down(tmp_path: Path) -> None:
    with ByHand(tmp_path, ECHO) as worker:
        assert worker.initialize() == {"jsonrpc": "2.0", "id": 1, "result": {"protocol": 1}}
        assert worker.result(text="你好 🚀 ｗｅｂ") == {"text": "你好 🚀 ｗｅｂ"}
        assert worker.result(a=[1, None]) == {"a": [1, None]}
        assert worker.answer(worker.request("shutdown"))[0]["result"] == {}
        assert worker.end() == (0, "")


def test_a_handler_finds_its_facts_in_the_context(tmp_path: Path) -> None:
    code = """
async def handle(message, context):
    names = ("config", "secrets", "data_dir", "locale", "session", "request_id", "idempotency_key", "principal")
    return {name: context[name] for name in names} | {"deadline": context["deadline"]}
"""
    facts = {
        "session": {"summary": "旧事"},
        "principal": {"kind": "local"},
        "idempotency_key": "k1",
        "deadline_ms": 20_000,
    }
    with ByHand(tmp_path, code) as worker:
        worker.initialize(config={"base_url": "http://gitlab"}, secrets={"TOKEN": "t"})
        seen = worker.answer(worker.handle("c1", facts))[0]["result"]
        assert worker.answer(worker.handle("c2", {"locale": "en"}))[0]["result"]["locale"] == "en"
    assert 0 < seen.pop("deadline") - time.time() <= 20
    assert seen == {
        "config": {"base_url": "http://gitlab"},
        "secrets": {"TOKEN": "t"},
        "data_dir": str(tmp_path / "data"),
        "locale": "zh",
        "session": {"summary": "旧事"},
        "request_id": "r-c1",
        "idempotency_key": "k1",
        "principal": {"kind": "local"},
    }


def test_progress_comes_in_order_and_before_the_result(tmp_path: Path) -> None:
    code = """
async def handle(message, context):
    await context["progress"]("开始")
    await context["progress"]("half", 50)
    await context["progress"](3, 99.5)
"""
    with ByHand(tmp_path, code) as worker:
        worker.initialize()
        answer, before = worker.answer(worker.handle("c7"))
    assert answer["result"] is None
    assert [(frame["method"], frame["params"]) for frame in before] == [
        ("progress", {"call": "c7", "text": "开始"}),
        ("progress", {"call": "c7", "text": "half", "percent": 50}),
        ("progress", {"call": "c7", "text": "3", "percent": 99.5}),
    ]


def test_what_is_logged_and_printed_becomes_lines_of_the_call_it_belongs_to(tmp_path: Path) -> None:
    code = """
import logging, sys
print("at import")

async def handle(message, context):
    print("printed 一行\\n\\nand another")
    context["log"].warning("slow %s", "disk")
    logging.getLogger("library").error("from a library")
    context["log"].debug("not told")
    print("no newline", end="")
"""
    with ByHand(tmp_path, code) as worker:
        _, before = worker.answer(worker.request("initialize"))
        assert [frame["params"] for frame in before] == [{"level": "info", "text": "at import"}]
        _, before = worker.answer(worker.handle("c1"))
    assert [frame["params"] for frame in before] == [
        {"level": "info", "text": "printed 一行", "call": "c1"},
        {"level": "info", "text": "and another", "call": "c1"},
        {"level": "warning", "text": "slow disk", "call": "c1"},
        {"level": "error", "text": "from a library", "call": "c1"},
        {"level": "info", "text": "no newline", "call": "c1"},
    ]


def test_lines_of_calls_side_by_side_are_kept_apart(tmp_path: Path) -> None:
    code = """
import asyncio

async def handle(message, context):
    for number in range(3):
        print(message["request_id"], end="")
        await asyncio.sleep(0)
        print("", number)
"""
    with ByHand(tmp_path, code) as worker:
        worker.initialize()
        requests = {worker.handle(call) for call in ("c1", "c2")}
        lines: dict[str, list[str]] = {"c1": [], "c2": []}
        while requests:
            frame = worker.read()
            if "method" in frame:
                lines[frame["params"]["call"]].append(frame["params"]["text"])
            else:
                requests.discard(frame["id"])
    assert lines == {call: [f"r-{call} {number}" for number in range(3)] for call in ("c1", "c2")}


def test_what_others_write_to_stdout_goes_to_stderr_and_never_onto_the_wire(tmp_path: Path) -> None:
    code = """
import os, subprocess, sys

async def handle(message, context):
    os.write(1, b"from C code\\n")
    subprocess.run(["echo", "from a child"])
    subprocess.run([sys.executable, "-c", "import sys; print(repr(sys.stdin.read()))"], stdout=sys.stdout)
    sys.stdout.flush()
    return [sys.stdout.encoding.lower(), sys.stdout.isatty(), sys.stdin.read()]
"""
    with ByHand(tmp_path, code) as worker:
        worker.initialize()
        assert worker.result() == ["utf-8", False, ""]
        worker.hang_up()
        assert worker.end() == (0, "from C code\nfrom a child\n''\n")


def test_a_cancelled_call_ends_and_others_go_on(tmp_path: Path) -> None:
    with ByHand(tmp_path, WAIT) as worker:
        worker.initialize()
        held, other = worker.handle("c1", wait=True), worker.handle("c2", wait=True)
        for call in ("unknown", "c1", "c1"):
            worker.write({"jsonrpc": "2.0", "method": "cancel", "params": {"call": call}})
        answer, before = worker.answer(held)
        assert (answer["error"]["code"], before) == (CANCELLED, [])
        assert worker.result(call="c3") == {"data": "完成"}
        worker.write({"jsonrpc": "2.0", "method": "cancel", "params": {"call": "c2"}})
        assert worker.answer(other)[0]["error"]["code"] == CANCELLED


def test_a_call_that_is_cancelled_before_it_began_is_answered_too(tmp_path: Path) -> None:
    with ByHand(tmp_path, WAIT) as worker:
        worker.initialize()
        handle = {"call": "c1", "message": {"payload": {"wait": True}}}
        worker.write(
            {"jsonrpc": "2.0", "id": 70, "method": "handle", "params": handle},
            {"jsonrpc": "2.0", "method": "cancel", "params": {"call": "c1"}},
        )
        answer, before = worker.answer(70)
        assert (answer["error"]["code"], before) == (CANCELLED, [])


def test_a_handler_may_finish_in_spite_of_a_cancel(tmp_path: Path) -> None:
    code = """
import asyncio

async def handle(message, context):
    try:
        await asyncio.sleep(600)
    except asyncio.CancelledError:
        return "tidied up"
"""
    with ByHand(tmp_path, code) as worker:
        worker.initialize()
        held = worker.handle("c1")
        worker.answer(worker.request("ping"))
        worker.write({"jsonrpc": "2.0", "method": "cancel", "params": {"call": "c1"}})
        assert worker.answer(held)[0]["result"] == "tidied up"


def test_ping_is_answered_while_calls_run(tmp_path: Path) -> None:
    with ByHand(tmp_path, WAIT) as worker:
        worker.initialize()
        worker.handle("c1", wait=True)
        assert worker.answer(worker.request("ping"))[0]["result"] == {}


def test_a_package_can_be_the_entry(tmp_path: Path) -> None:
    (tmp_path / "weather").mkdir()
    (tmp_path / "weather" / "words.py").write_text("SUN = '晴'\n", encoding="utf-8")
    code = "from .words import SUN\n\nasync def forecast(message, context):\n    return SUN\n"
    with ByHand(tmp_path, code, file="weather/__init__.py") as worker:
        assert worker.initialize("weather:forecast")["result"] == {"protocol": 1}
        assert worker.result() == "晴"


def test_files_of_a_plugin_do_not_stand_in_for_what_the_worker_imports(tmp_path: Path) -> None:
    for name in ("json", "logging", "asyncio", "traceback"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('the wrong one')\n")
    with ByHand(tmp_path, ECHO) as worker:
        assert worker.initialize()["result"] == {"protocol": 1}


def test_a_large_result_arrives_whole(tmp_path: Path) -> None:
    code = "async def handle(message, context):\n    return '大' * 2_000_000\n"
    with ByHand(tmp_path, code) as worker:
        worker.initialize()
        assert worker.result() == "大" * 2_000_000


@pytest.mark.parametrize("busy", [False, True])
def test_a_worker_leaves_when_its_stdin_is_closed(tmp_path: Path, *, busy: bool) -> None:
    with ByHand(tmp_path, WAIT) as worker:
        worker.initialize()
        if busy:
            worker.handle("c1", wait=True)
            worker.answer(worker.request("ping"))
        worker.hang_up()
        assert worker.end() == (0, "")


def test_started_by_hand_on_a_terminal_it_says_what_it_is(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "hermes.sdk.worker"],
            cwd=tmp_path,
            stdin=theirs,
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 1
    assert "hermes run" in done.stderr
    assert done.stdout == ""
