"""`hermes messages`: finding what was asked, and reading what came of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.asking import failed, record, say_asking, say_end, say_problem, succeeded
from tests.cli.command import Hermes
from tests.cli.scripted import Scripted, frame, stream
from tests.support.daemon import Daemon
from tests.support.waiting import until


def test_messages_are_listed_newest_first_with_what_was_asked(hermes: Hermes, daemon: Daemon) -> None:
    first = daemon.send("复述 第一句", session_id="cli.list")["request_id"]
    second = daemon.send("nobody knows this", session_id="cli.list")["request_id"]
    done = hermes("messages", "list", "--session", "cli.list")
    header, *lines = done.lines
    assert header.split() == ["RECEIVED", "REQUEST", "ID", "STATUS", "CODE", "INTENT", "TEXT"]
    assert [line.split()[2:] for line in lines] == [
        [second, "failed", "no_match", "–", "nobody", "knows", "this"],
        [first, "succeeded", "–", "echo", "复述", "第一句"],
    ]


def test_a_message_without_a_text_is_told_by_its_payload_as_json(hermes: Hermes, daemon: Daemon) -> None:
    payload = {"what": "none", "组": ["运维", None]}
    request_id = daemon.send(intent="lab.give", payload=payload, session_id="cli.payload")["request_id"]
    written = '{"what":"none","组":["运维",null]}'
    assert hermes("messages", "list", "--session", "cli.payload").lines[1].endswith(f"  {written}")
    assert f"asked     {written}" in hermes("messages", "show", request_id).lines


def test_an_error_code_that_is_given_as_a_status_is_sent_to_the_right_option(hermes: Hermes) -> None:
    done = hermes("messages", "list", "--status", "no_match")
    assert (done.code, done.out) == (2, "")
    assert "'no_match' is not one of" in done.err
    assert done.err.endswith("; the code of an error goes to --code\n")


def test_the_list_can_be_narrowed(hermes: Hermes, daemon: Daemon) -> None:
    session = "cli.narrow"
    done = daemon.send("echo good", session_id=session)["request_id"]
    failed = daemon.send(intent="lab.raise", session_id=session)["request_id"]

    def listed(*options: str) -> list[str]:
        found = json.loads(hermes("messages", "list", "--session", session, "--json", *options).out)
        return [record["request_id"] for record in found["items"]]

    assert listed() == [failed, done]
    assert listed("--status", "succeeded") == [done]
    assert listed("--code", "plugin_error") == [failed]
    assert listed("--plugin", "echo") == [done]
    assert listed("--plugin", "echo", "--code", "plugin_error") == []


def test_more_than_a_page_is_collected_up_to_the_limit(hermes: Hermes, daemon: Daemon) -> None:
    sent = [daemon.accept("nobody knows this", session_id="cli.pages") for _ in range(60)]
    daemon.send("nobody knows this", session_id="cli.pages")
    found = json.loads(hermes("messages", "list", "--session", "cli.pages", "--limit", "55", "--json").out)
    assert [record["request_id"] for record in found["items"]][1:] == sent[:-55:-1]
    assert found["next"] is not None
    everything = json.loads(
        hermes("messages", "list", "--session", "cli.pages", "--limit", "99", "--json").out
    )
    assert (len(everything["items"]), everything["next"]) == (61, None)


def test_a_long_text_is_shortened_in_the_list_and_whole_when_shown(hermes: Hermes, daemon: Daemon) -> None:
    text = "复述 " + "很长的一句话\n" * 50
    request_id = daemon.send(text, session_id="cli.long")["request_id"]
    (_, line) = hermes("messages", "list", "--session", "cli.long").lines
    assert line.endswith("…")
    assert hermes("messages", "show", request_id).out.count("很长的一句话") >= 50


def test_a_message_is_shown_with_its_result(hermes: Hermes, daemon: Daemon) -> None:
    record = daemon.send("复述 你好 🎉", session_id="cli.show")
    done = hermes("messages", "show", record["request_id"])
    facts, _, digest = done.out.partition("\n\n")
    told = dict(line.split(maxsplit=1) for line in facts.splitlines())
    assert told["request"] == record["request_id"]
    assert (told["session"], told["status"], told["asked"]) == ("cli.show", "succeeded", "复述 你好 🎉")
    assert told["intent"] == "echo (dispatch)"
    assert told["plugin"] == f"echo 1.0.0 {record['plugin']['hash']}"
    assert told["source"] == "api, local:local"
    assert digest == record["digest"] + "\n"


def test_a_failed_message_is_shown_with_its_error_and_the_command_succeeds(
    hermes: Hermes, daemon: Daemon
) -> None:
    request_id = daemon.send(intent="lab.raise")["request_id"]
    done = hermes("messages", "show", request_id)
    assert done.code == 0
    assert done.lines[-1].startswith("error     plugin_error: The tool failed: ValueError")


def test_the_story_is_told_on_demand(hermes: Hermes, daemon: Daemon) -> None:
    request_id = daemon.send("复述 你好", payload={"steps": 2, "delay": 0.1})["request_id"]
    done = hermes("messages", "show", request_id, "--events")
    table = done.lines[done.lines.index(next(line for line in done.lines if line.startswith("AFTER"))) + 1 :]
    assert [line.split()[2:] for line in table] == [
        ["TASK_RECEIVED", "–"],
        ["TOOL_STARTED", "echo", "attempt", "1"],
        ["PROGRESS", "50%", "正在复述", "1/2"],
        ["PROGRESS", "100%", "正在复述", "2/2"],
        ["TOOL_SUCCEEDED", "–"],
    ]


def test_json_is_the_record_and_with_events_its_story(hermes: Hermes, daemon: Daemon) -> None:
    record = daemon.send("echo hi")
    request_id = record["request_id"]
    assert json.loads(hermes("messages", "show", request_id, "--json").out) == record
    with_story = json.loads(hermes("messages", "show", request_id, "--json", "--events").out)
    assert with_story.pop("events") == [frame.data for frame in daemon.story(request_id)]
    assert with_story == record


def test_the_story_so_far_of_a_message_under_way_is_told_without_waiting_for_its_end(
    hermes: Hermes, daemon: Daemon, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    request_id = daemon.accept(intent="gate.read", payload={"gate": str(gate)})
    with daemon.stream(f"/v1/messages/{request_id}/events") as stream:
        stream.until("PROGRESS")
    shown = json.loads(hermes("messages", "show", request_id, "--json", "--events").out)
    assert (shown["status"], shown["events"][-1]["type"]) == ("running", "PROGRESS")
    gate.touch()


def test_an_unknown_message_is_one_line_on_stderr(hermes: Hermes) -> None:
    done = hermes("messages", "show", "nobody-knows-it")
    assert (done.code, done.out) == (1, "")
    assert done.err == "Error: not_found: there is no message 'nobody-knows-it'\n"


CALL = {"text": "the printer is broken"}
KEY = {"kind": "key", "id": "ops", "person": "slack:U1"}


def test_a_confirmed_call_is_followed_to_its_end(lonely: Hermes, scripted: Scripted) -> None:
    scripted.say_json(record(CALL, "running"))
    say_end(scripted, succeeded(CALL))
    done = lonely("messages", "confirm", "r-1", HERMES_URL=scripted.start())
    assert (done.code, done.out, done.err) == (0, "**OPS-7**\n", "")
    assert [(asked.path, asked.body) for asked in scripted.asked] == [
        ("/v1/messages/r-1/confirm", {"approve": True}),
        ("/v1/messages/r-1/events", None),
        ("/v1/messages/r-1", None),
    ]


def test_a_confirmed_call_that_fails_is_code_1(lonely: Hermes, scripted: Scripted) -> None:
    scripted.say_json(record(CALL, "running"))
    say_end(scripted, failed(CALL, "plugin_timeout", "The tool timed out after 2 s"))
    done = lonely("messages", "confirm", "r-1", HERMES_URL=scripted.start())
    assert (done.code, done.out, done.err) == (1, "", "plugin_timeout: The tool timed out after 2 s\n")


@pytest.mark.parametrize(
    ("option", "approve", "sentence"),
    [
        ("--decline", False, "ticket.create was declined and will not run.\n"),
        ("--no-wait", True, "ticket.create was approved.\n"),
    ],
)
def test_a_decision_alone_is_told_in_one_line(
    lonely: Hermes, scripted: Scripted, *, option: str, approve: bool, sentence: str
) -> None:
    decided = record(CALL, "running", confirmation={"approved": approve, "decided_by": KEY})
    for _ in range(2):
        scripted.say_json(decided)
    url = scripted.start()
    done = lonely("messages", "confirm", "r-1", option, HERMES_URL=url)
    assert (done.code, done.out, done.err) == (0, sentence, "")
    assert json.loads(lonely("messages", "confirm", "r-1", option, "--json", HERMES_URL=url).out) == decided
    assert [asked.body for asked in scripted.asked] == [{"approve": approve}] * 2


def test_who_may_confirm_but_not_read_is_told_that_it_was_approved(
    lonely: Hermes, scripted: Scripted
) -> None:
    scripted.say_json(record(CALL, "running", confirmation={"approved": True, "decided_by": KEY}))
    say_problem(scripted, "not_found", "there is no message 'r-1'", "404 Not Found")
    done = lonely("messages", "confirm", "r-1", HERMES_URL=scripted.start())
    assert (done.code, done.out, done.err) == (0, "ticket.create was approved.\n", "")


def test_a_decision_that_is_not_taken_or_whose_answer_is_lost_is_told(
    lonely: Hermes, scripted: Scripted
) -> None:
    say_problem(scripted, "already_decided", "it was declined by key:ops", "409 Conflict")
    scripted.hang_up()
    url = scripted.start()
    done = lonely("messages", "confirm", "r-1", HERMES_URL=url)
    assert (done.code, done.out) == (1, "")
    assert done.err == "Error: already_decided: it was declined by key:ops\n"
    lost = lonely("messages", "confirm", "r-1", HERMES_URL=url)
    assert lost.code == 1
    assert lost.err.endswith("; it may be decided: hermes messages show r-1\n")


def test_a_retry_whose_answer_is_lost_is_sent_again_as_the_same_message(
    lonely: Hermes, scripted: Scripted
) -> None:
    scripted.hang_up()
    scripted.say(stream(frame({"type": "TOOL_SUCCEEDED"}, 1)))
    scripted.say_json(succeeded(CALL))
    done = lonely("messages", "retry", "r-0", "--yes", HERMES_URL=scripted.start())
    assert (done.code, done.out, done.err) == (0, "**OPS-7**\n", "")
    first, second, _ = (asked.body for asked in scripted.asked)
    assert first == second
    assert first.pop("request_id") != "r-0"
    assert first == {"retry_of": "r-0", "approve": True}


def test_several_are_retried_one_after_another_and_all_have_to_succeed(
    lonely: Hermes, scripted: Scripted
) -> None:
    say_problem(scripted, "conflict", "this message has not failed", "409 Conflict")
    say_asking(scripted, record(CALL))
    scripted.say(stream(frame({"type": "TOOL_SUCCEEDED"}, 1)))
    scripted.say_json(succeeded(CALL))
    done = lonely("messages", "retry", "r-1", "r-2", "r-3", HERMES_URL=scripted.start())
    assert (done.code, done.out) == (1, "**OPS-7**\n")
    ids = [asked.body["request_id"] for asked in scripted.asked if asked.body]
    first, error, second, *_, waits, third = done.err.splitlines()
    assert [first, second, third] == [f"r-{n} again, as {ids[n - 1]}:" for n in (1, 2, 3)]
    assert error == "Error: conflict: this message has not failed"
    assert waits.startswith("awaiting_confirmation: ticket.create waits for a confirmation: ")


def waiting(daemon: Daemon, **members: Any) -> str:
    """Send a call that needs a confirmation, and return its id once it waits."""
    request_id = daemon.accept(intent="gate.sign", payload={"name": "第 7 份"}, **members)
    until(lambda: daemon.record(request_id)["status"] == "awaiting_confirmation")
    return request_id


def test_a_call_that_waits_is_found_confirmed_once_and_then_shown_with_who_did(
    hermes: Hermes, daemon: Daemon
) -> None:
    request_id = waiting(daemon, session_id="cli.confirm")
    listed = hermes("messages", "list", "--status", "awaiting_confirmation", "--session", "cli.confirm")
    assert [line.split()[2] for line in listed.lines[1:]] == [request_id]
    done = hermes("messages", "confirm", request_id)
    assert (done.code, done.err) == (0, "")
    assert "第 7 份" in done.out
    again = hermes("messages", "confirm", request_id, "--decline")
    assert (again.code, again.out) == (1, "")
    assert again.err.startswith("Error: already_decided: ")
    assert daemon.runs(request_id) == 1
    assert "local:local, approved by local:local at " in hermes("messages", "show", request_id).out


def test_a_call_that_is_declined_does_not_run(hermes: Hermes, daemon: Daemon) -> None:
    request_id = waiting(daemon)
    done = hermes("messages", "confirm", request_id, "--decline")
    assert (done.code, done.out, done.err) == (0, "已拒绝 gate.sign，不会执行。\n", "")
    assert until(lambda: daemon.record(request_id)["envelope"])["error"]["code"] == "declined"
    assert daemon.runs(request_id) == 0


def test_what_failed_is_run_again_and_what_did_not_is_not(
    hermes: Hermes, daemon: Daemon, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    failing = daemon.accept(intent="gate.read", payload={"gate": str(gate), "name": "again"})
    daemon.delete(f"/v1/messages/{failing}")
    until(lambda: daemon.record(failing)["status"] == "failed")
    gate.touch()
    done = hermes("messages", "retry", failing, "--json")
    record = json.loads(done.out)
    assert (done.code, record["retry_of"], record["status"]) == (0, failing, "succeeded")
    assert record["request_id"] != failing
    assert f"retry of  {failing}" in hermes("messages", "show", record["request_id"]).lines
    again = hermes("messages", "retry", record["request_id"], failing)
    assert (again.code, again.out.count("again")) == (1, 1)
    assert "\nError: conflict: " in again.err
