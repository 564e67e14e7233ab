"""A message is accepted at once; its sender may look again later, or wait for the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.daemon import Daemon
from tests.support.waiting import until


def test_a_message_is_accepted_at_once_and_its_record_tells_how_far_it_is(
    daemon: Daemon, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    answer = daemon.post(
        "/v1/messages", {"intent": "gate.read", "payload": {"gate": str(gate), "name": "甲"}}
    )
    assert answer.status == 202
    accepted = answer.json
    assert set(accepted) == {"request_id", "session_id", "status", "ack", "links"}
    assert accepted["status"] == "accepted"
    assert answer.headers["location"] == accepted["links"]["self"]
    until(lambda: daemon.record(accepted["request_id"])["status"] == "running")
    assert daemon.get(accepted["links"]["raw"]).problem == (409, "conflict")
    gate.touch()
    record = until(lambda: _ended(daemon, accepted["request_id"]))
    assert record["status"] == "succeeded"
    assert daemon.get(accepted["links"]["raw"]).json == {"passed": "甲"}


@pytest.mark.parametrize(
    ("text", "ack"),
    [
        ("网站上线 v2 cn", "正在上线 2"),
        ("deploy the website v3 eu", "Bringing out 3"),
        ("网站上线", "已受理，正在执行 deploy.web"),
    ],
)
def test_the_first_answer_is_a_sentence_in_the_language_of_the_request(
    daemon: Daemon, text: str, ack: str
) -> None:
    assert daemon.post("/v1/messages", {"text": text}).json["ack"] == {"text": ack, "eta_ms": None}


@pytest.mark.parametrize("prefer", ["wait=20", "respond-async, wait=20", 'WAIT="20"'])
def test_a_sender_may_prefer_to_wait(daemon: Daemon, prefer: str) -> None:
    answer = daemon.post("/v1/messages", {"text": "echo prefer"}, prefer=prefer)
    assert answer.status == 200
    assert answer.json["status"] == "succeeded"


def test_who_waits_for_a_message_that_fails_gets_its_record_too(daemon: Daemon) -> None:
    answer = daemon.post("/v1/messages?wait=20", {"intent": "lab.raise"})
    assert answer.status == 200
    assert answer.json["status"] == "failed"


def test_who_has_waited_long_enough_gets_what_there_is(daemon: Daemon, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    answer = daemon.post("/v1/messages?wait=0.05", {"intent": "gate.read", "payload": {"gate": str(gate)}})
    assert answer.status == 202
    assert answer.json["status"] in {"accepted", "running"}
    gate.touch()
    assert until(lambda: _ended(daemon, answer.json["request_id"]))["status"] == "succeeded"


@pytest.mark.parametrize(
    ("path", "headers"), [("?wait=121", {}), ("?wait=9e9", {}), ("", {"prefer": "wait=100000"})]
)
def test_a_wait_beyond_two_minutes_is_cut_and_told(
    daemon: Daemon, path: str, headers: dict[str, str]
) -> None:
    answer = daemon.post("/v1/messages" + path, {"text": "echo patience"}, **headers)
    assert answer.status == 200
    assert answer.headers["preference-applied"] == "wait=120"


def test_a_wait_within_two_minutes_needs_no_word(daemon: Daemon) -> None:
    answer = daemon.post("/v1/messages?wait=120", {"text": "echo patience"})
    assert "preference-applied" not in answer.headers


def test_a_client_that_hangs_up_cancels_nothing(daemon: Daemon, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with daemon.post_stream({"intent": "gate.read", "payload": {"gate": str(gate)}}) as stream:
        request_id = stream.next().data["request_id"]
    gate.touch()
    assert until(lambda: _ended(daemon, request_id))["status"] == "succeeded"


def _ended(daemon: Daemon, request_id: str) -> dict[str, Any] | None:
    record = daemon.record(request_id)
    return record if record["finished_at"] is not None else None
