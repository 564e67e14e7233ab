"""Redis may be away, silent, empty or locked: messages run, the loss is said, and all is well again by itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import StartDaemon
from tests.support.daemon import Daemon, write_plugin
from tests.support.doer import DOER
from tests.support.redis_server import RedisServer
from tests.support.waiting import until

HERE = "The store is away: what keeps it from being done twice is kept on this machine alone."
TICKET = {"ticket": "OPS-7", "n": 1}


class Office:
    """A daemon with a plugin that does one thing to the world; `day` says how it goes."""

    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon
        self._data = daemon.state_dir / "plugins" / "p"
        until(lambda: daemon.plugin("p")["workers"])
        self.day()

    def day(self, **day: Any) -> None:
        (self._data / "new day").write_text(json.dumps(day))
        (self._data / "new day").rename(self._data / "day")

    def go(self) -> None:
        (self._data / "go").touch()

    def effects(self, request_id: str) -> int:
        """Return how many times a message changed the world."""
        file = self._data / "effects"
        return file.read_text().split().count(request_id) if file.exists() else 0

    def send(self, **members: Any) -> dict[str, Any]:
        """Send a message and return its record."""
        return self.daemon.send(**(members if "retry_of" in members else {"intent": "p", **members}))

    def again(self, request_id: str) -> tuple[Any, Any]:
        """Try a message again; return data and warning."""
        envelope = self.send(retry_of=request_id)["envelope"]
        return envelope["data"], envelope["warning"]

    @property
    def ready(self) -> tuple[str, list[str]]:
        answer = self.daemon.get("/readyz")
        assert answer.status == 200
        return answer.json["status"], answer.json["reasons"]

    def healed(self) -> None:
        until(lambda: self.ready == ("ok", []))


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    """A Redis that does not run, at a place where nothing else does."""
    with RedisServer() as server:
        server.stop()
        yield server


def open_office(start_daemon: StartDaemon, folder: Path, url: str) -> Office:
    write_plugin(folder, "p", DOER, intents=[{"name": "p", "writes": True, "confirm": False}])
    return Office(start_daemon({"hermes": {"redis_url": url}}))


def test_a_redis_that_comes_goes_and_comes_back_empty_stops_nobody_and_doubles_nothing(
    start_daemon: StartDaemon, redis: RedisServer, tmp_path: Path
) -> None:
    office = open_office(start_daemon, tmp_path, redis.url)
    assert office.ready == ("degraded", ["Redis cannot be reached: Connection refused"])
    office.day(then="fail")
    early = office.send(request_id="early")
    assert (early["envelope"]["error"]["message"], early["envelope"]["warning"]) == (
        "it failed after that",
        HERE,
    )

    redis.start()
    office.healed()
    office.day()
    assert office.again("early") == (TICKET, None), "what was kept here counts"
    assert redis.command("DBSIZE") == b":1\r\n", "and is in Redis now"
    assert office.send()["envelope"]["warning"] is None

    office.day(make="wait", then="fail")
    during = office.daemon.accept(intent="p", request_id="during")
    until(lambda: office.effects(during))
    redis.stop()
    office.go()
    assert office.daemon.story(during)[-1].data["envelope"]["warning"] == HERE
    office.day()
    assert office.again("during") == ({"ticket": "OPS-7", "n": 3}, HERE)

    redis.start()
    office.healed()
    assert office.again("during") == ({"ticket": "OPS-7", "n": 3}, None)
    assert office.send()["envelope"]["warning"] is None
    assert [office.effects(name) for name in ("early", "during")] == [1, 1]
    assert [line["event"] for line in office.daemon.lines() if line["event"].startswith("store_")] == [
        "store_away",
        "store_back",
        "store_away",
        "store_back",
    ]


def test_a_silent_redis_holds_up_the_first_who_ask_for_a_moment_and_nobody_after_them(
    start_daemon: StartDaemon, redis: RedisServer, tmp_path: Path
) -> None:
    redis.start()
    office = open_office(start_daemon, tmp_path, redis.url)
    assert office.ready == ("ok", [])
    redis.pause()
    ids = [office.daemon.accept(intent="p") for _ in range(20)]
    ends = [office.daemon.story(one)[-1].data["envelope"] for one in ids]
    assert {(end["error"], end["warning"]) for end in ends} == {(None, HERE)}
    assert office.ready == ("degraded", ["Redis does not answer in time"])
    redis.resume()
    office.healed()
    assert office.send()["envelope"]["warning"] is None
    assert {office.effects(one) for one in ids} == {1}


def test_a_wrong_password_is_said_without_it_and_heals_when_it_is_right(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    with RedisServer(password="right") as redis:
        office = open_office(start_daemon, tmp_path, redis.url.replace("right", "geheim-7"))
        assert office.ready == ("degraded", ["Redis refuses the user or the password"])
        assert office.send(request_id="r1")["envelope"]["warning"] == HERE
        redis.command("CONFIG", "SET", "requirepass", "geheim-7")
        office.healed()
        assert office.send()["envelope"]["warning"] is None
        office.daemon.stop()
        told = (office.daemon.home / "log").read_text() + office.daemon.stderr
        assert "geheim-7" not in told
