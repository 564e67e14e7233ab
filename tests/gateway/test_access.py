"""On loopback only local names are answered, so that a web page elsewhere cannot reach Hermes through a browser."""

from __future__ import annotations

import pytest

from tests.support.daemon import Daemon

PATHS = ["/v1/messages", "/v1/messages/x", "/v1/events", "/v1/plugins", "/readyz", "/metrics"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", "", "10.0.0.1"]
)
def test_a_foreign_name_is_forbidden(daemon: Daemon, path: str, host: str) -> None:
    assert daemon.get(path, host=host).problem == (403, "forbidden")


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/route"])
def test_a_foreign_name_cannot_send(daemon: Daemon, path: str) -> None:
    assert daemon.post(path, {"text": "echo"}, host="evil.example").problem == (403, "forbidden")


@pytest.mark.parametrize("host", ["localhost", "LocalHost:1", "127.0.0.1:99", "[::1]:8080"])
def test_local_names_are_answered(daemon: Daemon, host: str) -> None:
    assert daemon.get("/v1/plugins", host=host).status == 200


def test_a_request_without_a_name_is_forbidden(daemon: Daemon) -> None:
    assert daemon.exchange(b"GET /v1/plugins HTTP/1.0\r\n\r\n").problem == (403, "forbidden")


def test_the_liveness_probe_is_answered_under_any_name(daemon: Daemon) -> None:
    answer = daemon.get("/healthz", host="anything.example")
    assert (answer.status, answer.json) == (200, {"status": "ok"})
