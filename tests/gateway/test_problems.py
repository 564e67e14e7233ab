"""Whatever is wrong with a request is answered as a problem of RFC 9457 with a code."""

from __future__ import annotations

import pytest

from tests.support.daemon import Daemon


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/v1",
        "/v1/",
        "/v1/messages/",
        "/v1/messages//raw",
        "/v1/messages/x/nothing",
        "/v2/messages",
        "/%00",
        "/v1/plugins/nobody",
    ],
)
def test_an_unknown_path_is_not_found(daemon: Daemon, path: str) -> None:
    answer = daemon.get(path)
    assert answer.problem == (404, "not_found")
    assert answer.json["type"] == "about:blank"


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/v1/messages", {"GET", "POST"}),
        ("DELETE", "/v1/messages", {"GET", "POST"}),
        ("POST", "/v1/messages/x", {"GET", "DELETE"}),
        ("PATCH", "/v1/messages/x", {"GET", "DELETE"}),
        ("POST", "/v1/messages/x/raw", {"GET"}),
        ("GET", "/v1/route", {"POST"}),
        ("POST", "/v1/plugins", {"GET"}),
        ("OPTIONS", "/v1/events", {"GET"}),
        ("POST", "/healthz", {"GET"}),
        ("BREW", "/metrics", {"GET"}),
    ],
)
def test_a_wrong_method_is_told_which_there_are(
    daemon: Daemon, method: str, path: str, allowed: set[str]
) -> None:
    if method == "BREW":  # not of HTTP: the parser itself refuses it
        assert daemon.request(method, path).status == 400
        return
    answer = daemon.request(method, path)
    assert answer.problem == (405, "method_not_allowed")
    assert set(answer.headers["allow"].replace(" ", "").split(",")) - {"HEAD"} == allowed


def test_a_head_request_has_no_body(daemon: Daemon) -> None:
    for path in ("/healthz", "/v1/plugins", "/v1/messages"):
        answer = daemon.request("HEAD", path)
        assert (answer.status, answer.body) == (200, b"")
