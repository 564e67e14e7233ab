"""Reading what is not there, and lists that are asked for wrongly."""

from __future__ import annotations

import pytest

from tests.support.daemon import Daemon

STRANGE = ["nobody", "a" * 1000, "%00", "%ff%fe", "..%2f..%2fetc", "%E4%BC%9A", "a%20b", "'%20OR%201=1--"]


@pytest.mark.parametrize("request_id", STRANGE)
@pytest.mark.parametrize("rest", ["", "/raw", "/events"])
def test_an_unknown_id_is_not_found(daemon: Daemon, request_id: str, rest: str) -> None:
    answer = daemon.get(f"/v1/messages/{request_id}{rest}")
    assert answer.problem == (404, "not_found")


def test_what_does_not_exist_cannot_be_cancelled(daemon: Daemon) -> None:
    assert daemon.delete("/v1/messages/nobody").problem == (404, "not_found")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"),
        ("limit=-1", "limit"),
        ("limit=501", "limit"),
        ("limit=many", "limit"),
        ("limit=1.5", "limit"),
        ("limit=", "limit"),
        ("limit=99999999999999999999", "limit"),
        ("cursor=x", "cursor"),
        ("cursor=", "cursor"),
        ("cursor=-1", "cursor"),
        ("cursor=9999999999999999999999", "cursor"),
        ("status=done", "status"),
        ("status=", "status"),
        ("sort=asc", "sort"),
        ("session=x", "session"),
        ("%ff=1", None),
        ("limit=1&limit=2", "limit"),
    ],
)
def test_a_list_that_is_asked_for_wrongly_is_refused_by_name(
    daemon: Daemon, query: str, field: str | None
) -> None:
    answer = daemon.get(f"/v1/messages?{query}")
    assert answer.problem == (422, "invalid_field")
    assert field is None or answer.json["field"] == field


def test_a_wrong_cursor_is_not_told_the_grammar_of_ids(daemon: Daemon) -> None:
    assert "128" not in daemon.get("/v1/messages?cursor=x").json["detail"]


@pytest.mark.parametrize(
    "query", ["session_id=%00", "code=%F0%9F%A4%B7", "plugin=%ff", "session_id='--", "limit=500"]
)
def test_a_strange_filter_finds_nothing_and_breaks_nothing(daemon: Daemon, query: str) -> None:
    assert daemon.get(f"/v1/messages?{query}").status == 200


@pytest.mark.parametrize("path", ["/v1/events?since=1", "/v1/messages/x?full=1", "/v1/messages/x/events?a"])
def test_an_unknown_parameter_is_refused_by_name(daemon: Daemon, path: str) -> None:
    answer = daemon.get(path)
    assert answer.problem == (422, "invalid_field")
    assert answer.json["field"] == path.partition("?")[2].partition("=")[0]
