"""The question at the terminal: what is shown, what counts as an answer, and what becomes of it."""

from __future__ import annotations

import json
import re
import signal
import threading
from typing import Any

import pytest

from hermes.cli.question import description
from tests.cli.asking import failed, record, say_asking, say_end, say_problem, succeeded
from tests.cli.command import Hermes
from tests.cli.scripted import Scripted, frame, stream

ZH = {"text": "打印机坏了", "priority": 2}
EN = {"text": "the printer is broken", "priority": 2}
YES_OR_NO = "[y/N] "
WAITS = "ticket.create waits for a confirmation: hermes messages confirm r-1, or --decline"


def answers(scripted: Scripted) -> list[Any]:
    """Return what was handed in."""
    return [asked.body for asked in scripted.asked if asked.path == "/v1/messages/r-1/confirm"]


def plain(written: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written).replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("payload", "words", "key"),
    [
        (ZH, ["需要确认：ticket.create（插件 tickets）", "有效期至：2026-11-30 15:00:00", "执行吗？"], "y"),
        (ZH, [], "是"),
        (
            EN,
            ["To be confirmed: ticket.create (plugin tickets)", "Valid until: 2026-11-30 15", "Run it? "],
            "YES",
        ),
    ],
)
def test_who_says_yes_has_seen_what_runs_and_gets_the_result(
    lonely: Hermes, scripted: Scripted, payload: dict[str, Any], words: list[str], key: str
) -> None:
    say_asking(scripted, record(payload))
    scripted.say_json(record(payload, "running"))
    say_end(scripted, succeeded(payload))
    with lonely.at_terminal("send", "x", "--url", scripted.start()) as terminal:
        asked = terminal.until(YES_OR_NO).replace("\r\n", "\n")
        terminal.type(f"{key}\n")
        end = plain(terminal.rest())
    for word in [*words, '"priority": 2', json.dumps(payload["text"], ensure_ascii=False)]:
        assert word in asked
    assert end.splitlines()[-1].strip() == "OPS-7"
    assert (terminal.process.returncode, answers(scripted)) == (0, [{"approve": True}])
    assert scripted.asked[3].headers["last-event-id"] == "2"


@pytest.mark.parametrize("key", ["", "n", "否"])
def test_anything_like_no_declines(lonely: Hermes, scripted: Scripted, key: str) -> None:
    say_asking(scripted, record(EN))
    scripted.say_json(record(EN, "failed"))
    say_end(scripted, failed(EN, "declined", "It was declined."))
    with lonely.at_terminal("send", "x", "--url", scripted.start()) as terminal:
        terminal.until(YES_OR_NO)
        terminal.type(f"{key}\n")
        assert plain(terminal.rest()).endswith("\ndeclined: It was declined.\n")
    assert (terminal.process.returncode, answers(scripted)) == (1, [{"approve": False}])


def test_what_is_neither_is_asked_again(lonely: Hermes, scripted: Scripted) -> None:
    say_asking(scripted, record(EN))
    scripted.say_json(record(EN, "running"))
    say_end(scripted, succeeded(EN))
    with lonely.at_terminal("send", "x", "--url", scripted.start()) as terminal:
        terminal.until(YES_OR_NO)
        terminal.type("perhaps\n")
        assert terminal.until(YES_OR_NO).endswith("Run it? [y/N] ")
        terminal.type("y\n")
        terminal.rest()
    assert answers(scripted) == [{"approve": True}]


def test_what_was_typed_before_the_question_is_no_answer_to_it(lonely: Hermes, scripted: Scripted) -> None:
    typed = threading.Event()
    question = {"type": "PROGRESS", "stage": "awaiting_confirmation", "text": "?"}
    scripted.say(stream(), typed, frame(question, 1))
    scripted.say_json(record(EN))
    scripted.say_json(record(EN, "failed"))
    say_end(scripted, failed(EN, "declined", "It was declined."))
    with lonely.at_terminal("send", "x", "--url", scripted.start()) as terminal:
        terminal.type("y\n")
        terminal.until("y")  # the terminal has it
        typed.set()
        terminal.until(YES_OR_NO)
        terminal.type("\n")
        terminal.rest()
    assert answers(scripted) == [{"approve": False}]


@pytest.mark.parametrize("way_out", ["end of input", "ctrl-c"])
def test_who_leaves_the_question_declines_nothing_and_is_told_how_to_decide_later(
    lonely: Hermes, scripted: Scripted, way_out: str
) -> None:
    say_asking(scripted, record(EN))
    with lonely.at_terminal("send", "x", "--url", scripted.start()) as terminal:
        terminal.until(YES_OR_NO)
        if way_out == "ctrl-c":
            terminal.process.send_signal(signal.SIGINT)
        else:
            terminal.type("\x04")
        *_, line = plain(terminal.rest()).splitlines()
    assert WAITS in line
    assert (terminal.process.returncode, answers(scripted)) == (1, [])


def test_waiting_for_an_answer_ends_where_the_waiting_for_the_result_would(
    lonely: Hermes, scripted: Scripted
) -> None:
    say_asking(scripted, record(ZH))
    with lonely.at_terminal("send", "x", "--wait", "2", "--url", scripted.start()) as terminal:
        terminal.until(YES_OR_NO)
        *_, line = plain(terminal.rest()).splitlines()
    assert line.startswith(
        "awaiting_confirmation: ticket.create 正在等待确认，用 hermes messages confirm r-1 "
    )
    assert (terminal.process.returncode, answers(scripted)) == (1, [])


@pytest.mark.parametrize(
    ("code", "detail", "status", "said"),
    [
        ("already_decided", "it was approved by key:ops", "409 Conflict", ""),
        ("confirmation_expired", "it expired", "410 Gone", ""),
        ("forbidden", "someone else has to confirm it", "403 Forbidden", WAITS),
    ],
)
def test_an_answer_that_is_not_taken_is_told_and_the_message_followed_all_the_same(
    lonely: Hermes, scripted: Scripted, *, code: str, detail: str, status: str, said: str
) -> None:
    say_asking(scripted, record(EN))
    say_problem(scripted, code, detail, status)
    say_end(scripted, succeeded(EN))
    with lonely.at_terminal("send", "x", "--url", scripted.start()) as terminal:
        terminal.until(YES_OR_NO)
        terminal.type("y\n")
        rest = plain(terminal.rest())
    assert f"{code}: {detail}\n{said}" in rest
    assert rest.splitlines()[-1].strip() == "OPS-7"
    assert terminal.process.returncode == 0


@pytest.mark.parametrize("stopping", [True, False])
def test_an_answer_that_is_lost_is_handed_in_again_and_nobody_is_asked_twice(
    lonely: Hermes, scripted: Scripted, *, stopping: bool
) -> None:
    say_asking(scripted, record(EN))
    if stopping:
        say_problem(scripted, "unavailable", "Hermes is stopping", "503 Service Unavailable")
    else:
        scripted.hang_up()
    scripted.say_json(record(EN))
    scripted.say_json(record(EN, "running"))
    say_end(scripted, succeeded(EN))
    with lonely.at_terminal("send", "x", "--follow", "--url", scripted.start()) as terminal:
        terminal.until(YES_OR_NO)
        terminal.type("y\n")
        assert YES_OR_NO not in terminal.rest()
    assert (terminal.process.returncode, answers(scripted)) == (0, [{"approve": True}, {"approve": True}])


def test_a_question_that_somebody_else_decides_is_taken_back(lonely: Hermes, scripted: Scripted) -> None:
    say_asking(scripted, record(EN))
    scripted.say_json(record(EN, "running"))
    say_end(scripted, succeeded(EN))
    with lonely.at_terminal("send", "x", "--url", scripted.start()) as terminal:
        terminal.until(YES_OR_NO)
        assert "\nSomebody else has decided, or it has expired.\n" in plain(terminal.rest())
    assert (terminal.process.returncode, answers(scripted)) == (0, [])


def test_a_question_that_somebody_else_approves_is_taken_back_before_a_worker_is_free(
    lonely: Hermes, scripted: Scripted
) -> None:
    say_asking(scripted, record(EN))
    scripted.say_json(record(EN, confirmation={"approved": True}))
    say_end(scripted, succeeded(EN))
    with lonely.at_terminal("send", "x", "--url", scripted.start()) as terminal:
        terminal.until(YES_OR_NO)
        assert "\nSomebody else has decided, or it has expired.\n" in plain(terminal.rest())
    assert (terminal.process.returncode, answers(scripted)) == (0, [])


def test_nobody_is_asked_about_what_was_approved_on_the_terminal(lonely: Hermes, scripted: Scripted) -> None:
    queued = record(EN, confirmation={"approved": True})
    scripted.say_json(queued)
    question = {"type": "PROGRESS", "stage": "awaiting_confirmation", "text": "?"}
    scripted.say(stream(frame(question, 1)))
    scripted.say_json(queued)
    say_end(scripted, succeeded(EN))
    shown = lonely.on_terminal("messages", "confirm", "r-1", "--url", scripted.start())
    assert plain(shown).strip() == "OPS-7"


def test_a_question_controls_no_terminal_and_says_when_it_does_not_show_all() -> None:
    shown = description(record({"lines": list(range(100)), "x": "\x1b[2J\u202etxt"}))
    assert shown.count("\n") < 50
    assert "  … and 65 more lines, see: hermes messages show r-1 --json" in shown
    assert "\\u001b[2J\\u202etxt" in description(record({"x": "\x1b[2J\u202etxt"}))


def test_who_may_confirm_is_told() -> None:
    shown = description(record(EN, confirmation={"by": ["slack:U1", "admin"], "other_than_asker": True}))
    assert "\nCan be confirmed by: slack:U1, admin\n" in shown
    assert "\nHas to be confirmed by someone other than who asked\n" in shown
