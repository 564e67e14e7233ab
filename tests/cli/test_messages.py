"""`hermes messages`: finding what was asked, and reading what came of it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.command import Hermes
from tests.support.daemon import Daemon


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
