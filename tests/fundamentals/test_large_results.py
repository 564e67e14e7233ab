"""A large result is kept whole and shown apart; one beyond the limit is refused."""

from __future__ import annotations

import pytest

from tests.conftest import StartDaemon
from tests.support.daemon import Daemon

INLINE = 64 * 1024


def test_a_result_that_just_fits_is_shown_in_place(daemon: Daemon) -> None:
    size = INLINE - len('{"text":""}')
    envelope = daemon.send(intent="lab.big", payload={"size": size})["envelope"]
    assert envelope["data"] == {"text": "x" * size}
    assert envelope["warning"] is None


@pytest.mark.parametrize("size", [INLINE, 2_000_000])
def test_a_larger_one_is_shown_apart_and_kept_whole(daemon: Daemon, size: int) -> None:
    record = daemon.send(intent="lab.big", payload={"size": size})
    assert record["status"] == "succeeded"
    assert record["envelope"]["data"] is None
    assert "links.raw" in record["envelope"]["warning"]
    assert daemon.get(record["links"]["raw"]).json == {"text": "x" * size}
    last = daemon.story(record["request_id"])[-1]
    assert last.data["envelope"] == record["envelope"]
    assert 0 < len(record["digest"]) <= 1200


def test_what_has_no_data_has_no_raw_result(daemon: Daemon) -> None:
    record = daemon.send(intent="lab.raise")
    assert daemon.get(record["links"]["raw"]).problem == (404, "not_found")


@pytest.mark.parametrize("size", [2_000, 200_000], ids=["fits a frame", "over the frame"])
def test_a_result_over_the_limit_is_refused_and_the_plugin_goes_on(
    start_daemon: StartDaemon, size: int
) -> None:
    own = start_daemon({"limits": {"result_bytes": 1_000, "inline_bytes": 100}}, plugins=["lab"])
    record = own.send(intent="lab.big", payload={"size": size})
    assert record["status"] == "failed"
    assert record["envelope"]["error"]["code"] == "result_too_large"
    assert "1000" in record["envelope"]["error"]["message"]
    assert own.send(intent="lab.big", payload={"size": 500})["status"] == "succeeded"
