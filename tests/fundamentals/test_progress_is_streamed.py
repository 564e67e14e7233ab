"""While a plugin works, what it tells is streamed, as the answer to the message itself or beside it."""

from __future__ import annotations

from pathlib import Path

from tests.support.client import Frame
from tests.support.daemon import Daemon


def test_the_answer_to_a_message_can_be_its_own_story(daemon: Daemon) -> None:
    with daemon.post_stream({"text": "复述 故事", "payload": {"steps": 3, "delay": 0.06}}) as stream:
        assert stream.status == 200
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert stream.headers["cache-control"] == "no-cache, no-transform"
        assert stream.headers["x-accel-buffering"] == "no"
        frames = list(stream)
    assert [frame.event for frame in frames] == [
        "TASK_RECEIVED",
        "TOOL_STARTED",
        "PROGRESS",
        "PROGRESS",
        "PROGRESS",
        "TOOL_SUCCEEDED",
    ]
    assert [frame.data["text"] for frame in frames[2:5]] == ["正在复述 1/3", "正在复述 2/3", "正在复述 3/3"]
    assert [round(frame.data["percent"]) for frame in frames[2:5]] == [33, 67, 100]
    assert frames[-1].data["envelope"]["data"]["text"] == "复述 故事"
    assert "复述 故事" in frames[-1].data["digest"]


def test_every_event_names_its_message_and_counts_without_gaps(daemon: Daemon) -> None:
    with daemon.post_stream({"intent": "lab.progress", "payload": {"lines": 2}}) as stream:
        frames = list(stream)
    assert [frame.data["seq"] for frame in frames] == list(range(1, len(frames) + 1))
    assert len({(frame.data["request_id"], frame.data["session_id"]) for frame in frames}) == 1
    assert all(frame.data["type"] == frame.event for frame in frames)
    times = [frame.data["timestamp"] for frame in frames]
    assert times == sorted(times)


def test_progress_comes_while_the_tool_still_runs(daemon: Daemon, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    request_id = daemon.accept(intent="gate.read", payload={"gate": str(gate)})
    with daemon.stream(f"/v1/messages/{request_id}/events") as stream:
        early = stream.until("PROGRESS")
        assert early[-1].data["text"] == "在门口等 / at the gate"
        assert daemon.record(request_id)["status"] == "running"
        gate.touch()
        assert [frame.event for frame in stream] == ["TOOL_SUCCEEDED"]


def test_of_too_many_lines_the_newest_win(daemon: Daemon) -> None:
    request_id = daemon.send(intent="lab.progress", payload={"lines": 400})["request_id"]
    told = [frame for frame in daemon.story(request_id) if frame.event == "PROGRESS"]
    assert told[0].data["text"] == "第 1 step 🚶"
    assert told[-1].data["text"] == "第 400 step 🚶"
    assert len(told) < 400


def test_whoever_listens_and_whoever_comes_later_hear_the_same(daemon: Daemon) -> None:
    with daemon.post_stream({"intent": "lab.progress", "payload": {"lines": 50}}) as stream:
        heard = list(stream)
    replayed = daemon.story(heard[0].data["request_id"])
    assert [_told(frame) for frame in replayed] == [_told(frame) for frame in heard]


def _told(frame: Frame) -> tuple[str, dict[str, object]]:
    return frame.event, frame.data
