"""`hermes send` from its arguments to the result of a plugin, and to all the ways a message can fail."""

from __future__ import annotations

import json
import re
import signal
import socket
import threading
from pathlib import Path

import pytest

from hermes.messages import new_id
from tests.cli.command import Hermes
from tests.cli.scripted import Scripted
from tests.conftest import StartDaemon
from tests.support.daemon import Daemon
from tests.support.waiting import until


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    return port


@pytest.mark.parametrize(
    ("text", "said"), [("复述 早上好 🎉", "早上好 🎉"), ("echo ＡＢＣ　full-width", "ＡＢＣ　full-width")]
)
def test_the_digest_of_the_result_is_printed(hermes: Hermes, text: str, said: str) -> None:
    done = hermes("send", text)
    assert (done.code, done.err) == (0, "")
    assert said in done.out


@pytest.mark.parametrize(("text", "said"), [("/help", "echo hello"), ("帮助", "复述 你好")])
def test_a_built_in_word_prints_its_answer(hermes: Hermes, text: str, said: str) -> None:
    done = hermes("send", text)
    assert (done.code, done.err) == (0, "")
    assert said in done.out


def test_intent_payload_and_session_reach_the_plugin(hermes: Hermes, daemon: Daemon) -> None:
    payload = json.dumps({"text": "say it", "数": [1, None]})
    done = hermes("send", "--intent", "echo", "--payload", payload, "--session", "cli.s-1", "--json")
    record = json.loads(done.out)
    assert (done.code, record["session_id"], record["decision"]["outcome"]) == (0, "cli.s-1", "given")
    assert record["envelope"]["data"] == {"text": "say it", "数": [1, None]}
    assert daemon.record(record["request_id"]) == record


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["天气怎么样"], "no_match: 无法确定这句话要用哪个工具。试试 /help。"),
        (["blah blah"], "no_match: Cannot tell which tool this is for. Try /help."),
        (["--intent", "lab.raise"], "plugin_error: The tool failed: ValueError: that went wrong"),
        (["--intent", "fragile.read"], "plugin_crashed: The tool's process ended unexpectedly."),
        (["--intent", "stuck.sleep", "慢"], "plugin_timeout: 该工具执行超时（0.3 秒）"),
        (["--intent", "echo", "--payload", '{"steps": "many"}'], "invalid_payload: "),
    ],
)
def test_a_message_that_fails_is_code_1_and_one_line_on_stderr(
    hermes: Hermes, arguments: list[str], line: str
) -> None:
    done = hermes("send", *arguments)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(line)
    assert done.err.count("\n") == 1


def test_with_json_a_failed_message_is_a_record_too(hermes: Hermes) -> None:
    done = hermes("send", "blah blah", "--json")
    assert done.code == 1
    assert json.loads(done.out)["envelope"]["error"]["code"] == "no_match"
    assert done.err == "no_match: Cannot tell which tool this is for. Try /help.\n"


def test_what_the_daemon_does_not_take_is_code_1_and_one_line(hermes: Hermes) -> None:
    done = hermes("send", "one", "--payload", '{"text": "other"}')
    assert (done.code, done.out) == (1, "")
    assert done.err == "Error: invalid_field: text and payload.text differ; give one of them\n"


def test_what_can_be_chosen_is_printed_with_how_to_choose_it(hermes: Hermes) -> None:
    session = new_id()
    done = hermes("send", "上线", "--session", session)
    assert done.code == 1
    assert done.lines == [
        "1. deploy.app  上线应用 / bring out the app",
        "2. deploy.web  上线网站 / bring out the website",
    ]
    answer = f"hermes send --session {session} 1"
    assert done.err == f"clarification_needed: 您指的是哪一个？\nanswer: {answer}\n"
    assert hermes(*answer.split()[1:]).code == 0


def test_a_question_for_what_is_missing_is_told_on_stderr_with_how_to_answer_it(hermes: Hermes) -> None:
    done = hermes("send", "deploy the website v1.2")
    assert (done.code, done.out) == (1, "")
    question, answer = done.err.splitlines()
    assert question.startswith("clarification_needed: ")
    assert "region" in question
    command, filled = answer.removeprefix("answer: hermes ").rsplit(maxsplit=1)
    assert filled == "'region=…'"
    assert hermes(*command.split(), "region=cn").code == 0


def test_a_message_that_resumes_another_shows_which(hermes: Hermes) -> None:
    session = new_id()
    hermes("send", "上线", "--session", session)
    hermes("send", "1", "--session", session)
    resumed, asked = json.loads(hermes("messages", "list", "--session", session, "--json").out)["items"]
    assert resumed["resumes"] == asked["request_id"]
    assert f"resumes   {asked['request_id']}" in hermes("messages", "show", resumed["request_id"]).lines
    texts = [
        line.split("  ")[-1].strip() for line in hermes("messages", "list", "--session", session).lines[1:]
    ]
    assert texts == ["↳ 上线", "上线"]
    assert hermes("messages", "show", asked["request_id"]).lines[-1] == "请回复编号或名称。"


@pytest.mark.parametrize(
    ("key", "code", "end"), [("y", 0, "第 7 份"), ("", 1, "declined: 已拒绝，没有执行。")]
)
def test_a_call_that_needs_a_confirmation_is_asked_about_on_a_terminal(
    hermes: Hermes, key: str, *, code: int, end: str
) -> None:
    payload = '{"name": "第 7 份"}'
    with hermes.at_terminal("send", "--follow", "--intent", "gate.sign", "--payload", payload) as terminal:
        assert '"name": "第 7 份"' in terminal.until("执行吗？[y/N] ")
        terminal.type(f"{key}\n")
        assert end in terminal.rest()
    assert terminal.process.returncode == code


def test_yes_agrees_to_a_call_that_changes_something(hermes: Hermes) -> None:
    done = hermes("send", "--intent", "gate.sign", "--payload", '{"name": "第 7 份"}', "--yes")
    assert (done.code, done.err) == (0, "")
    assert "第 7 份" in done.out


def test_warnings_go_to_stderr(hermes: Hermes) -> None:
    done = hermes("send", "--intent", "lab.give", "--payload", '{"what": "warning"}')
    assert (done.code, done.out, done.err) == (0, "1\n", "warning: only the first page\n")


def test_follow_shows_each_step_on_stderr_and_the_result_on_stdout(hermes: Hermes) -> None:
    done = hermes("send", "--follow", "复述 你好", "--payload", '{"steps": 3, "delay": 0.1}')
    accepted, *steps = done.err.splitlines()
    assert accepted.startswith("accepted as ")
    assert steps == ["running echo", " 33% 正在复述 1/3", " 67% 正在复述 2/3", "100% 正在复述 3/3"]
    assert done.code == 0
    assert "你好" in done.out


def test_follow_on_a_terminal_moves_a_bar_and_leaves_only_the_result(hermes: Hermes) -> None:
    payload = '{"steps": 2, "delay": 0.2, "text": "**结果** [bold]x[/bold] <b>y</b>"}'
    written = hermes.on_terminal("send", "--follow", "--intent", "echo", "--payload", payload)
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written)
    assert "正在复述 1/2" in plain
    assert "50%" in plain
    left = written.rpartition("\x1b[2K")[2]  # what came after the bar was wiped away
    assert "正在复述" not in left
    assert "结果 [bold]x[/bold] <b>y</b>" in re.sub(r"\x1b\[[0-9;]*m", "", left)


def test_a_result_cannot_control_the_terminal(hermes: Hermes) -> None:
    attack = json.dumps({"text": "safe\x1b]0;owned\x07\x1b[2J\x9b31m &#27;[31m\u202etxt", "steps": 0})
    for done in (
        hermes("send", "--intent", "echo", "--payload", attack).out,
        hermes.on_terminal("send", "--intent", "echo", "--payload", attack),
        hermes("send", "--intent", "echo", "--payload", attack, "--json").out,
    ):
        assert "safe" in done
        colours_aside = re.sub(r"\x1b\[[0-9;]*m", "", done)
        assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e]", colours_aside)


def test_waiting_has_an_end_and_the_message_goes_on(hermes: Hermes, daemon: Daemon, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    payload = json.dumps({"gate": str(gate)})
    done = hermes("send", "--intent", "gate.read", "--payload", payload, "--wait", "0.2")
    found = re.fullmatch(r"running: not ended yet, it goes on: hermes messages show (\S+)\n", done.err)
    assert (done.code, done.out) == (1, "")
    assert found
    gate.touch()
    assert until(lambda: daemon.record(found[1])["status"] == "succeeded")


def test_ctrl_c_stops_the_waiting_and_not_the_message(hermes: Hermes, daemon: Daemon, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with hermes.start(
        "send", "--follow", "--intent", "gate.read", "--payload", json.dumps({"gate": str(gate)})
    ) as waiting:
        assert waiting.stderr is not None
        while "在门口等" not in waiting.stderr.readline():
            assert waiting.poll() is None
        waiting.send_signal(signal.SIGINT)
        line = waiting.stderr.read()
        assert waiting.wait(10) == 1
    found = re.fullmatch(
        r"Error: not waiting any more, the message goes on: hermes messages show (\S+)\n", line
    )
    assert found, line
    gate.touch()
    assert until(lambda: daemon.record(found[1])["status"] == "succeeded")


def test_ctrl_c_before_the_daemon_has_answered_names_the_message_too(
    lonely: Hermes, scripted: Scripted
) -> None:
    over = threading.Event()
    scripted.say(over)
    with lonely.start("send", "x", HERMES_URL=scripted.start()) as waiting:
        (asked,) = until(lambda: scripted.asked)
        waiting.send_signal(signal.SIGINT)
        out, err = waiting.communicate(timeout=10)
    over.set()
    assert (waiting.returncode, out) == (1, "")
    look = f"hermes messages show {asked.body['request_id']}"
    assert err == f"Error: not waiting any more, the message goes on if it has arrived: {look}\n"


def test_a_daemon_that_stops_and_comes_back_is_followed_and_each_event_is_told_once(
    lonely: Hermes, start_daemon: StartDaemon, tmp_path: Path
) -> None:
    bind = f"127.0.0.1:{free_port()}"
    first = start_daemon({"hermes": {"bind": bind}, "limits": {"shutdown_grace": 2}}, plugins=["gate"])
    gate = tmp_path / "gate"
    payload = json.dumps({"gate": str(gate), "name": "两次"})
    with lonely.start(
        "send", "--follow", "--intent", "gate.read", "--payload", payload, HERMES_URL=first.url
    ) as sent:
        first.line(event="PROGRESS")
        first.stop()
        start_daemon().line(event="PROGRESS")
        gate.touch()
        out, err = sent.communicate(timeout=20)
    accepted, *steps = err.splitlines()
    assert (sent.returncode, "两次" in out) == (0, True), err
    assert accepted.startswith("accepted as ")
    assert steps == [
        "running gate.read",
        "在门口等 / at the gate",
        "running gate.read, attempt 2",
        "在门口等 / at the gate",
    ]


def test_a_message_is_followed_through_a_crash_of_the_daemon(
    lonely: Hermes, start_daemon: StartDaemon, tmp_path: Path
) -> None:
    first = start_daemon({"hermes": {"bind": f"127.0.0.1:{free_port()}"}}, plugins=["gate"])
    gate = tmp_path / "gate"
    payload = json.dumps({"gate": str(gate), "name": "两次"})
    with lonely.start(
        "send", "--follow", "--intent", "gate.read", "--payload", payload, HERMES_URL=first.url
    ) as sent:
        until(lambda: first.lines(event="PROGRESS"))
        first.kill()
        gate.touch()
        start_daemon()
        out, err = sent.communicate(timeout=20)
    assert (sent.returncode, "两次" in out) == (0, True), err


def test_an_answer_counts_though_the_daemon_died_while_it_was_thought_about(
    lonely: Hermes, start_daemon: StartDaemon
) -> None:
    first = start_daemon({"hermes": {"bind": f"127.0.0.1:{free_port()}"}}, plugins=["gate"])
    call = ("--intent", "gate.sign", "--payload", '{"name": "paper 7"}', "--url", first.url)
    with lonely.at_terminal("send", *call) as terminal:
        terminal.until("Run it? [y/N] ")
        first.kill()
        terminal.type("y\n")
        start_daemon()
        rest = terminal.rest()
    assert (terminal.process.returncode, "paper 7" in rest) == (0, True), rest


def test_a_key_that_is_missing_or_wrong_is_told(lonely: Hermes, start_daemon: StartDaemon) -> None:
    daemon = start_daemon({"hermes": {"bind": "0.0.0.0:0"}}, plugins=["lab"])
    key = (daemon.state_dir / "admin.key").read_text().strip()
    refused = lonely("send", "x", HERMES_URL=daemon.url)
    assert refused.code == 1
    assert refused.err.startswith("Error: unauthorized: ")
    assert refused.err.endswith(
        "; give it with --key or in HERMES_KEY; the daemon keeps it in admin.key of its state_dir\n"
    )
    assert lonely("send", "x", "--key", "wrong", HERMES_URL=daemon.url).code == 1
    arguments = ("send", "--intent", "lab.give", "--payload", '{"what": "text"}')
    assert lonely(*arguments, HERMES_URL=daemon.url, HERMES_KEY=key).out == "just text\n"
