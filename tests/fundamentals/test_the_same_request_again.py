"""The same request_id never runs twice: the sender of a repetition gets the record of the first."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hermes.messages import new_id
from tests.support.client import Answer
from tests.support.daemon import Daemon
from tests.support.waiting import until


def test_a_repetition_gets_the_first_record_and_says_so(daemon: Daemon) -> None:
    request_id = new_id()
    body = {"intent": "gate.read", "payload": {"name": "一"}, "request_id": request_id}
    first = daemon.post("/v1/messages?wait=20", body)
    again = daemon.post("/v1/messages?wait=20", body)
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    assert again.json == first.json
    assert daemon.runs(request_id) == 1


def test_a_repetition_while_the_first_still_runs_waits_for_it(daemon: Daemon, tmp_path: Path) -> None:
    gate, request_id = tmp_path / "gate", new_id()
    body = {"intent": "gate.read", "payload": {"gate": str(gate)}, "request_id": request_id}
    daemon.post("/v1/messages", body)
    until(lambda: daemon.runs(request_id))
    early = daemon.post("/v1/messages", body)
    assert (early.status, early.json["status"], early.headers["idempotent-replayed"]) == (
        200,
        "running",
        "true",
    )
    with ThreadPoolExecutor() as pool:
        late = pool.submit(daemon.post, "/v1/messages?wait=20", body)
        gate.touch()
        assert late.result().json["status"] == "succeeded"
    assert daemon.runs(request_id) == 1


def test_of_many_at_the_same_moment_one_runs(daemon: Daemon) -> None:
    request_id = new_id()
    body = {"intent": "gate.read", "request_id": request_id}

    def send(_: int) -> Answer:
        return daemon.post("/v1/messages?wait=20", body)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(send, range(16)))
    assert {answer.status for answer in answers} == {200}
    assert len({answer.body for answer in answers}) == 1
    assert [answer.headers.get("idempotent-replayed") for answer in answers].count(None) == 1
    assert daemon.runs(request_id) == 1


def test_the_order_of_members_makes_no_difference_but_another_body_is_a_conflict(daemon: Daemon) -> None:
    request_id = new_id()
    body = {"text": "echo one", "request_id": request_id, "payload": {"a": 1, "b": 2}}
    assert daemon.post("/v1/messages?wait=20", body).status == 200
    turned = dict(reversed(body.items())) | {"payload": {"b": 2, "a": 1}}
    assert daemon.post("/v1/messages", turned).headers["idempotent-replayed"] == "true"
    for other in (body | {"text": "echo two"}, body | {"metadata": {}}):
        assert daemon.post("/v1/messages?wait=20", other).problem == (409, "conflict")


def test_a_repetition_can_be_streamed(daemon: Daemon) -> None:
    body = {"text": "echo again", "request_id": new_id()}
    daemon.post("/v1/messages?wait=20", body)
    with daemon.post_stream(body) as stream:
        assert stream.headers["idempotent-replayed"] == "true"
        assert [frame.event for frame in stream] == ["TASK_RECEIVED", "TOOL_STARTED", "TOOL_SUCCEEDED"]
    with daemon.post_stream(body | {"request_id": new_id()}) as stream:
        assert "idempotent-replayed" not in stream.headers


def test_white_space_in_the_json_makes_no_difference(daemon: Daemon) -> None:
    body = {"text": "复述 空格", "request_id": new_id()}
    daemon.post("/v1/messages?wait=20", body)
    spaced = json.dumps(body, indent=4, ensure_ascii=False).encode()
    again = daemon.request("POST", "/v1/messages", body=spaced, headers={"content-type": "application/json"})
    assert again.headers["idempotent-replayed"] == "true"
