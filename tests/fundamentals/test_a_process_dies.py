"""A call whose process dies is tried again if that is safe, three times in all; what writes is never repeated."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.client import Frame
from tests.support.daemon import Daemon


@pytest.fixture(autouse=True)
def _well_again(daemon: Daemon) -> Iterator[None]:
    """A call that works lets the next dead process be replaced at once."""
    yield
    assert daemon.send(intent="fragile.well")["status"] == "succeeded"


def _attempts(frames: list[Frame]) -> list[int]:
    return [frame.data["attempt"] for frame in frames if frame.event == "TOOL_STARTED"]


def test_a_reading_call_whose_process_dies_is_run_again(daemon: Daemon) -> None:
    record = daemon.send(intent="fragile.once")
    assert (record["status"], record["attempts"]) == ("succeeded", 2)
    assert record["envelope"]["data"] == "survived"
    assert _attempts(daemon.story(record["request_id"])) == [1, 2]


@pytest.mark.parametrize(
    ("sentence", "message"),
    [("读一下", "该工具的进程意外退出。"), ("read it", "The tool's process ended unexpectedly.")],
)
def test_a_reading_call_is_tried_three_times_at_the_most(daemon: Daemon, sentence: str, message: str) -> None:
    record = daemon.send(intent="fragile.read", payload={"text": sentence})
    assert (record["status"], record["attempts"]) == ("failed", 3)
    assert record["envelope"]["error"] == {"code": "plugin_crashed", "message": message, "retryable": True}
    assert record["envelope"]["warning"] is None
    frames = daemon.story(record["request_id"])
    assert _attempts(frames) == [1, 2, 3]
    assert [frame.event for frame in frames].count("TOOL_FAILED") == 1


@pytest.mark.parametrize(
    ("sentence", "warning"), [("写一下", "该操作可能已经生效。"), ("write it", "It may have taken effect.")]
)
def test_a_writing_call_runs_once_and_warns_that_it_may_have_taken_effect(
    daemon: Daemon, sentence: str, warning: str
) -> None:
    record = daemon.send(intent="fragile.write", payload={"text": sentence})
    assert (record["status"], record["attempts"]) == ("failed", 1)
    assert record["envelope"]["error"]["code"] == "plugin_crashed"
    assert record["envelope"]["warning"] == warning


def test_the_next_call_finds_a_new_process(daemon: Daemon) -> None:
    daemon.send(intent="fragile.write")
    assert daemon.send(intent="fragile.well")["status"] == "succeeded"
    assert daemon.plugin("fragile")["state"] == "ready"
    log = daemon.lines(event="worker_exited", plugin="fragile")
    assert "exit code 7" in log[-1]["reason"]
