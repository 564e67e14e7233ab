"""What `POST /v1/messages` makes of wishes for waiting that are none."""

from __future__ import annotations

import pytest

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
