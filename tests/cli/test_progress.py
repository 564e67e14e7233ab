"""How progress is shown, whatever a plugin says in it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.cli.command import Hermes
from tests.cli.scripted import Scripted, frame, stream

EVENTS: list[dict[str, Any]] = [
    {"type": "TASK_RECEIVED", "request_id": "r-1"},
    {"type": "TOOL_STARTED", "intent": "ci.deploy", "attempt": 1},
    {"type": "PROGRESS", "text": "\x1b[2J第一步\x07\nof [bold]two[/bold] \x9b31m", "percent": 12.5},
    {"type": "TOOL_STARTED", "intent": "ci.deploy", "attempt": 2},
    {"type": "PROGRESS", "text": "nearly there"},
    {"type": "PROGRESS", "text": "odd", "percent": "much"},
    {"type": "TOOL_SUCCEEDED"},
]
RECORD = {
    "status": "succeeded",
    "digest": "done",
    "decision": {"warning": None},
    "envelope": {"data": None, "error": None, "warning": None},
}


@pytest.fixture
def told(scripted: Scripted) -> str:
    """A server that tells the events, then the record."""
    scripted.say(stream(*(frame(event, number) for number, event in enumerate(EVENTS))))
    scripted.say_json(RECORD)
    return scripted.start()


def test_each_step_is_one_line_without_control_characters_when_there_is_no_terminal(
    lonely: Hermes, told: str
) -> None:
    done = lonely("send", "x", "--follow", HERMES_URL=told)
    assert done.err.splitlines() == [
        "accepted as r-1",
        "running ci.deploy",
        " 12% 第一步 of [bold]two[/bold] 31m",
        "running ci.deploy, attempt 2",
        "nearly there",
        "odd",
    ]
    assert (done.code, done.out) == (0, "done\n")


def test_a_terminal_gets_one_line_that_is_drawn_again(lonely: Hermes, told: str) -> None:
    written = lonely.on_terminal("send", "x", "--follow", "--url", told)
    assert "\x1b[2J" not in written
    assert "第一步 of [bold]two[/bold] 31m" in written
    assert re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written).splitlines()[-1].strip() == "done"


def test_without_follow_nothing_is_shown_on_the_way(lonely: Hermes, told: str) -> None:
    done = lonely("send", "x", HERMES_URL=told)
    assert (done.code, done.out, done.err) == (0, "done\n", "")
