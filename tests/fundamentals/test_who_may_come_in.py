"""On loopback every local caller is let in; where others can reach Hermes, a key is needed."""

from __future__ import annotations

import stat

from tests.conftest import StartDaemon
from tests.support.client import Client
from tests.support.daemon import Daemon

OPEN_TO_ALL = {"hermes": {"bind": "0.0.0.0:0"}}


def _key(daemon: Daemon) -> str:
    return (daemon.state_dir / "admin.key").read_text().strip()


def test_a_bind_that_others_can_reach_makes_one_key_and_asks_for_it(start_daemon: StartDaemon) -> None:
    daemon = start_daemon(OPEN_TO_ALL, plugins=["lab"])
    file = daemon.state_dir / "admin.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(daemon.lines(event="admin_key_made", file=str(file))) == 1
    assert _key(daemon) not in (daemon.home / "log").read_text() + daemon.stderr
    assert str(file) in daemon.stderr

    for path in ("/v1/messages", "/v1/plugins", "/v1/events", "/readyz", "/metrics", "/v1/messages/x/events"):
        answer = daemon.get(path)
        assert answer.problem == (401, "unauthorized"), path
        assert answer.headers["www-authenticate"] == "Bearer"
    assert daemon.post("/v1/messages", {"text": "echo"}).problem == (401, "unauthorized")
    assert daemon.post("/v1/route", {"text": "echo"}).problem == (401, "unauthorized")
    assert daemon.get("/healthz").status == 200

    for headers in ({"authorization": f"Bearer {_key(daemon)}"}, {"x-api-key": _key(daemon)}):
        record = Client(daemon.url, headers).send(intent="lab.process")
        assert record["status"] == "succeeded"
        assert record["principal"] == {"kind": "key", "id": "admin", "person": None}


def test_a_wrong_key_is_none_and_the_next_start_keeps_the_right_one(start_daemon: StartDaemon) -> None:
    daemon = start_daemon(OPEN_TO_ALL)
    key = _key(daemon)
    for shown in ("Bearer wrong", "Bearer", f"Bearer {key}x", "Bearer \xe9\xff", f"Basic {key}", key, ""):
        assert daemon.get("/v1/plugins", authorization=shown).problem == (401, "unauthorized")
    daemon.stop()
    again = start_daemon()
    assert _key(again) == key
    assert again.lines(event="admin_key_made") == []
    assert again.get("/v1/plugins", authorization=f"bearer {key}").status == 200


def test_a_key_can_be_done_without_if_the_operator_says_so_and_is_warned(start_daemon: StartDaemon) -> None:
    daemon = start_daemon(OPEN_TO_ALL | {"auth": {"mode": "none"}}, plugins=["lab"])
    assert daemon.send(intent="lab.process")["status"] == "succeeded"
    assert len(daemon.lines(event="auth_is_off", level="warning")) == 1
    assert not (daemon.state_dir / "admin.key").exists()


def test_on_loopback_no_key_is_made(daemon: Daemon) -> None:
    assert not (daemon.state_dir / "admin.key").exists()
