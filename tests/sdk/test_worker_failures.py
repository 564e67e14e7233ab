"""What goes wrong in a worker stays with the call it belongs to, and says where and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hermes.sdk.wire import METHOD_NOT_FOUND, NOT_JSON, PARSE_ERROR, PLUGIN_FAILED
from tests.support.by_hand import ByHand

ECHO = "async def handle(message, context):\n    return message['payload']\n"


def test_unknown_requests_are_refused_and_unknown_notifications_and_members_ignored(tmp_path: Path) -> None:
    with ByHand(tmp_path, ECHO) as worker:
        assert worker.initialize(future={"x": 1})["result"] == {"protocol": 1}
        worker.write({"jsonrpc": "2.0", "method": "dance", "params": {}, "extra": 1})
        worker.write({"jsonrpc": "2.0", "id": "x9", "result": {}})
        refused = worker.answer(worker.request("dance"))[0]["error"]
        assert (refused["code"], "dance" in refused["message"]) == (METHOD_NOT_FOUND, True)
        assert worker.answer(worker.handle("c1", {"later": True}, a=1))[0]["result"] == {"a": 1}


def test_frames_that_make_no_sense_do_not_take_those_behind_them_along(tmp_path: Path) -> None:
    with ByHand(tmp_path, ECHO) as worker:
        worker.initialize()
        message = {"payload": {"a": 1}}
        worker.write(
            b"nonsense\n",
            b"[1, 2]\n",
            {"id": 50, "method": ["handle"], "params": {}},
            {"id": 51, "method": "handle", "params": [1]},
            {"id": 52, "method": "handle", "params": {"message": message}},
            {"id": 53, "method": "handle", "params": {"call": "c1"}},
            {"id": 54, "method": "cancel", "params": "c1"},
            {"id": 55, "method": "handle", "params": {"call": "c2", "message": message}},
        )
        answer, before = worker.answer(55)
    assert answer["result"] == {"a": 1}
    failed = {frame["id"]: frame["error"]["code"] for frame in before if "error" in frame}
    assert failed[None] == PARSE_ERROR
    assert {51, 52, 53} <= failed.keys()


@pytest.mark.parametrize("result", ["float('nan')", "{'data': float('inf')}", "{1, 2}", "object()", "b'x'"])
def test_a_result_without_a_json_form_is_an_error_of_that_call_alone(tmp_path: Path, result: str) -> None:
    code = f"async def handle(message, context):\n    return 1 if message['payload'] else {result}\n"
    with ByHand(tmp_path, code) as worker:
        worker.initialize()
        error = worker.answer(worker.handle())[0]["error"]
        assert (error["code"], "JSON" in error["message"]) == (NOT_JSON, True)
        assert worker.result(fine=True) == 1


def test_progress_without_a_json_form_fails_the_call_that_sent_it(tmp_path: Path) -> None:
    code = "async def handle(message, context):\n    await context['progress']('x', float('nan'))\n"
    with ByHand(tmp_path, code) as worker:
        worker.initialize()
        assert worker.answer(worker.handle())[0]["error"]["code"] == PLUGIN_FAILED


RAISED = [
    ("raise LookupError('没有这个项目\\nsecond line')", "LookupError: 没有这个项目"),
    ("raise RuntimeError", "RuntimeError"),
    ("raise SystemExit(3)", "SystemExit: 3"),
    ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    ("raise BaseExceptionGroup('several', [ValueError('one')])", "ExceptionGroup: several (1 sub-exception)"),
]


@pytest.mark.parametrize(("statement", "message"), RAISED)
def test_what_a_handler_raises_becomes_one_line_with_its_place_and_ends_nothing_else(
    tmp_path: Path, statement: str, message: str
) -> None:
    code = f"async def handle(message, context):\n    if message['payload']:\n        return 1\n    {statement}\n"
    with ByHand(tmp_path, code) as worker:
        worker.initialize()
        answer, before = worker.answer(worker.handle())
        assert answer["error"] == {
            "code": PLUGIN_FAILED,
            "message": message,
            "data": {"file": "plugin.py", "line": 4},
        }
        (line,) = [frame["params"] for frame in before]
        assert (line["level"], line["call"], "Traceback" in line["text"]) == ("error", "c1", True)
        assert worker.result(fine=True) == 1


def test_a_syntax_error_of_the_plugin_is_its_message_alone_and_another_one_keeps_its_place(
    tmp_path: Path,
) -> None:
    code = "import ast\n\nasync def handle(message, context):\n    ast.parse('x = (')\n"
    with ByHand(tmp_path, code) as worker:
        worker.initialize()
        error = worker.answer(worker.handle())[0]["error"]
        assert error["message"] == "SyntaxError: '(' was never closed (<unknown>, line 1)"
    with ByHand(tmp_path, "x = (\n") as worker:
        assert worker.initialize()["error"]["message"] == "SyntaxError: '(' was never closed"


def test_the_place_is_the_plugins_own_line_even_if_a_library_raised(tmp_path: Path) -> None:
    code = "import json\n\nasync def handle(message, context):\n    return json.loads('{')\n"
    with ByHand(tmp_path, code) as worker:
        worker.initialize()
        assert worker.answer(worker.handle())[0]["error"]["data"] == {"file": "plugin.py", "line": 4}


BROKEN: list[tuple[str, str, Any]] = [
    ("x = (\n", "SyntaxError: '(' was never closed", {"file": "plugin.py", "line": 1}),
    ("\nimport not_there\n", "ModuleNotFoundError: No module", {"file": "plugin.py", "line": 2}),
    ("raise ValueError('no token')\n", "ValueError: no token", {"file": "plugin.py", "line": 1}),
    ("import sys\nsys.exit('bye')\n", "SystemExit: bye", {"file": "plugin.py", "line": 2}),
    ("", "TypeError: 'plugin' has no function 'handle'", None),
    ("handle = 7\n", "TypeError: 'plugin' has no function 'handle'", None),
    ("def handle(message, context): ...\n", "TypeError: handle is not async", None),
]


@pytest.mark.parametrize(("code", "message", "place"), BROKEN)
def test_a_plugin_that_cannot_be_imported_says_where_and_why(
    tmp_path: Path, code: str, message: str, place: dict[str, Any] | None
) -> None:
    with ByHand(tmp_path, code) as worker:
        error = worker.initialize()["error"]
        assert error["code"] == PLUGIN_FAILED
        assert error["message"].startswith(message)
        assert error.get("data") == place
        refused = worker.answer(worker.handle())[0]["error"]["message"]
        assert "initialize" in refused


UNSPEAKABLE = """
class Unspeakable(Exception):
    def __str__(self):
        raise ValueError("no text")
    __repr__ = __str__

class Placeless(OSError):
    @property
    def filename(self):
        raise LookupError("no file")

class Odd(dict):
    def items(self):
        raise KeyError("no items")

class Loud(logging.Handler):
    def emit(self, record):
        raise RuntimeError("no room for a log")
"""
ODD = [
    ("raise Unspeakable", PLUGIN_FAILED, "Unspeakable"),
    ("raise Placeless(2, 'not there')", PLUGIN_FAILED, "Placeless"),
    ("raise SyntaxError('bad', (b'no text', 1, 1, ''))", PLUGIN_FAILED, "SyntaxError"),
    ("os.rmdir('../gone'); raise ValueError('from nowhere')", PLUGIN_FAILED, "ValueError: from nowhere"),
    ("log.addHandler(Loud()); raise ValueError('unheard')", PLUGIN_FAILED, "RuntimeError: no room for a log"),
    ("return Odd(a=1)", NOT_JSON, "KeyError: 'no items'"),
    ("return {'data': [Odd(a=1)]}", NOT_JSON, "KeyError: 'no items'"),
]


@pytest.mark.parametrize(("statement", "code", "message"), ODD)
def test_a_failure_that_fails_in_its_turn_is_answered_all_the_same(
    tmp_path: Path, statement: str, code: int, message: str
) -> None:
    (tmp_path / "gone").mkdir()
    source = f"""
import logging, os
log = logging.getLogger("plugin")
{UNSPEAKABLE}
async def handle(message, context):
    if message["payload"]:
        return 1
    os.chdir("gone")
    {statement}
"""
    with ByHand(tmp_path, source) as worker:
        worker.initialize()
        error = worker.answer(worker.handle())[0]["error"]
        assert (error["code"], message in error["message"]) == (code, True)
        assert worker.result(fine=True) == 1


def test_an_exception_without_a_text_keeps_its_place(tmp_path: Path) -> None:
    code = f"import logging\n{UNSPEAKABLE}\nraise Unspeakable\n"
    with ByHand(tmp_path, code) as worker:
        error = worker.initialize()["error"]
    assert error["message"] == "Unspeakable"
    assert error["data"] == {
        "file": "plugin.py",
        "line": code[: code.index("raise Unspeakable")].count("\n") + 1,
    }
