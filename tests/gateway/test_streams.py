"""Event streams that are asked for wrongly."""

from __future__ import annotations

import pytest

from tests.support.daemon import Daemon


@pytest.mark.parametrize(
    "last", ["x", "1", "1-", "-1", "1-1-1", "1 -1", "9" * 30 + "-1", "1-x", "\xb2-\xb2", "null"]
)
@pytest.mark.parametrize("path", ["/v1/events", "/v1/messages/{}/events"])
def test_an_id_of_no_event_is_refused(daemon: Daemon, path: str, last: str) -> None:
    request_id = daemon.send("echo")["request_id"]
    answer = daemon.get(path.format(request_id), last_event_id=last)
    assert answer.problem == (422, "invalid_field")
    assert answer.json["field"] == "Last-Event-ID"


def test_an_id_beyond_the_end_of_a_story_gets_nothing_more(daemon: Daemon) -> None:
    request_id = daemon.send("echo")["request_id"]
    with daemon.stream(
        f"/v1/messages/{request_id}/events", last_event_id="9999999999999999999-999"
    ) as stream:
        assert list(stream) == []


def test_a_message_that_is_refused_has_no_stream(daemon: Daemon) -> None:
    answer = daemon.post("/v1/messages", {"text": 5}, accept="text/event-stream")
    assert answer.problem == (422, "invalid_field")
