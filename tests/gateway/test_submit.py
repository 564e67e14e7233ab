"""What `POST /v1/messages` makes of wishes for waiting that are none, and of retries."""

from __future__ import annotations

import pytest

from hermes.messages import new_id
from tests.support.daemon import Daemon


@pytest.mark.parametrize("wait", ["", "x", "-1", "nan", "inf", "-inf", "1,5", "5s", "%00", "%ff", "五"])
def test_a_wait_that_is_no_number_of_seconds_is_refused(daemon: Daemon, wait: str) -> None:
    quoted = wait.encode().decode("latin-1") if wait != "五" else "%E4%BA%94"
    answer = daemon.post(f"/v1/messages?wait={quoted}", {"text": "echo"})
    assert answer.problem == (422, "invalid_field")
    assert answer.json["field"] == "wait"


@pytest.mark.parametrize("query", ["wiat=5", "wait=1&wait=2", "wait=5&follow=1", "async"])
def test_an_unknown_or_repeated_parameter_is_refused(daemon: Daemon, query: str) -> None:
    assert daemon.post(f"/v1/messages?{query}", {"text": "echo"}).problem == (422, "invalid_field")


@pytest.mark.parametrize("prefer", ["wait=soon", "wait", "wait=-1", "return=minimal", "await=20", "\xe4\xba"])
def test_a_preference_that_is_not_understood_is_no_reason_to_refuse(daemon: Daemon, prefer: str) -> None:
    assert daemon.post("/v1/messages", {"text": "echo"}, prefer=prefer).status == 202


def test_the_parameter_goes_before_the_preference(daemon: Daemon) -> None:
    assert daemon.post("/v1/messages?wait=0", {"text": "echo"}, prefer="wait=20").status == 202


def test_what_failed_is_run_again_under_another_id_and_said_so(daemon: Daemon) -> None:
    error = {"code": "upstream_unavailable", "message": "今天不行", "retryable": True}
    old = daemon.send(intent="lab.fail", payload={"error": error})
    body = {"retry_of": old["request_id"], "request_id": new_id()}
    first, second = (daemon.post("/v1/messages?wait=20", body) for _ in range(2))
    assert (first.status, first.json["retry_of"]) == (200, old["request_id"])
    assert first.json["message"]["payload"] == old["message"]["payload"]
    assert (second.json, second.headers["idempotent-replayed"]) == (first.json, "true")
    answer = daemon.post("/v1/messages", body | {"session_id": "s2"})
    assert answer.problem == (409, "conflict")


def test_what_cannot_be_run_again_is_refused(daemon: Daemon) -> None:
    done = daemon.send("echo")
    assert daemon.post("/v1/messages", {"retry_of": done["request_id"]}).problem == (409, "conflict")
    assert daemon.post("/v1/messages", {"retry_of": "nobody"}).problem == (404, "not_found")
