"""Everybody who listens hears everything, late or early, once or again; one stream can carry many tasks."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path

from hermes.messages import new_id
from tests.support.client import Frame, Stream
from tests.support.daemon import Daemon
from tests.support.waiting import until

STORY = ["TASK_RECEIVED", "TOOL_STARTED", "PROGRESS", "TOOL_SUCCEEDED"]


def _events(frames: list[Frame]) -> list[str]:
    return [frame.event for frame in frames]


def test_who_comes_late_is_told_the_whole_story_and_then_the_stream_ends(daemon: Daemon) -> None:
    record = daemon.send(intent="gate.read", payload={"name": "late"})
    frames = daemon.story(record["request_id"])
    assert _events(frames) == STORY
    assert frames[-1].data["envelope"] == record["envelope"]
    assert frames[-1].data["digest"] == record["digest"]
    assert daemon.story(record["request_id"]) == frames


def test_who_was_interrupted_goes_on_after_the_last_event_he_saw(daemon: Daemon) -> None:
    request_id = daemon.send(intent="gate.read")["request_id"]
    frames = daemon.story(request_id)
    for seen in range(1, len(frames)):
        last = str(frames[seen - 1].id)
        with daemon.stream(f"/v1/messages/{request_id}/events", last_event_id=last) as stream:
            assert list(stream) == frames[seen:]


def test_who_was_interrupted_in_the_middle_misses_nothing(daemon: Daemon, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with daemon.post_stream({"intent": "gate.read", "payload": {"gate": str(gate)}}) as stream:
        first = stream.until("TOOL_STARTED")
    path = f"/v1/messages/{first[0].data['request_id']}/events"
    with daemon.stream(path, last_event_id=str(first[-1].id)) as stream:
        gate.touch()
        assert _events(first + list(stream)) == STORY


def test_many_subscribers_all_hear_everything(daemon: Daemon, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    request_id = daemon.accept(intent="gate.read", payload={"gate": str(gate)})
    with ExitStack() as stack:
        path = f"/v1/messages/{request_id}/events"
        streams = [stack.enter_context(daemon.stream(path)) for _ in range(20)]
        gate.touch()
        stories = [list(stream) for stream in streams]
    assert _events(stories[0]) == STORY
    assert all(story == stories[0] for story in stories)


def test_one_stream_carries_many_tasks(daemon: Daemon) -> None:
    ids = {new_id() for _ in range(5)}
    with daemon.stream("/v1/events") as stream:
        for request_id in ids:
            daemon.accept(intent="gate.read", request_id=request_id)
        heard: list[Frame] = []
        for frame in stream:
            if frame.data["request_id"] in ids:
                heard.append(frame)
            if _events(heard).count("TOOL_SUCCEEDED") == len(ids):
                break
    for request_id in ids:
        assert _events([frame for frame in heard if frame.data["request_id"] == request_id]) == STORY


def test_a_stream_can_be_of_one_session_alone(daemon: Daemon) -> None:
    mine, other = new_id(), new_id()
    with daemon.stream(f"/v1/events?session_id={mine}") as stream:
        daemon.send("echo other", session_id=other)
        daemon.send("echo mine", session_id=mine)
        frames = stream.until("TOOL_SUCCEEDED")
    assert {frame.data["session_id"] for frame in frames} == {mine}


def test_a_stream_of_all_starts_now_or_where_it_was_left(daemon: Daemon) -> None:
    session = new_id()
    path = f"/v1/events?session_id={session}"
    with daemon.stream(path) as stream:
        first = daemon.send("echo 一", session_id=session)
        last = stream.until("TOOL_SUCCEEDED")[-1]
    missed = daemon.send("echo 二", session_id=session)
    with daemon.stream(path, last_event_id=str(last.id)) as stream:
        assert {frame.data["request_id"] for frame in stream.until("TOOL_SUCCEEDED")} == {
            missed["request_id"]
        }
    with daemon.stream(path) as stream:
        newest = daemon.send("echo 三", session_id=session)
        assert {frame.data["request_id"] for frame in stream.until("TOOL_SUCCEEDED")} == {
            newest["request_id"]
        }
    assert first["request_id"] != missed["request_id"]


def test_who_left_leaves_nothing_behind(daemon: Daemon, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    request_id = daemon.accept(intent="gate.read", payload={"gate": str(gate)})
    for _ in range(10):
        with daemon.stream(f"/v1/messages/{request_id}/events"), daemon.stream("/v1/events"):
            pass
    until(lambda: "hermes_sse_subscribers 0.0" in daemon.get("/metrics").body.decode())
    gate.touch()


def test_an_id_too_old_goes_on_from_the_oldest_kept_after_a_word_about_the_gap(daemon: Daemon) -> None:
    session = new_id()
    with daemon.stream(f"/v1/events?session_id={session}", last_event_id="1-1") as stream:
        gap = stream.next()
        assert (gap.id, gap.event, gap.data) == (None, "stream", {"reason": "gap"})
        daemon.send("echo after the gap", session_id=session)
        assert stream.next().event == "TASK_RECEIVED"


def test_who_cannot_keep_up_is_let_go_and_can_go_on_from_there(daemon: Daemon) -> None:
    session = new_id()
    path = f"/v1/events?session_id={session}"
    with _slow_stream(daemon, path) as stream:
        sent = []
        while 'reason="slow"} 1.0' not in daemon.get("/metrics").body.decode():
            sent.append(
                daemon.send(intent="lab.big", payload={"size": 60_000}, session_id=session)["request_id"]
            )
        *heard, last = stream
    assert (last.id, last.event, last.data) == (None, "stream", {"reason": "slow"})
    with daemon.stream(path, last_event_id=str(heard[-1].id)) as stream:
        for frame in stream:
            heard.append(frame)
            if frame.data["request_id"] == sent[-1] and frame.event == "TOOL_SUCCEEDED":
                break
    ends = [frame.data["request_id"] for frame in heard if frame.event == "TOOL_SUCCEEDED"]
    assert ends == sent


def _slow_stream(daemon: Daemon, path: str) -> Stream:
    """Open a stream through a socket that holds little, so that what is not read stays with Hermes."""
    connection = HTTPConnection(daemon.host, daemon.port, timeout=20)
    connection.sock = socket.socket()
    connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.sock.connect((daemon.host, daemon.port))
    connection.sock.settimeout(20)
    connection.request("GET", path)
    return Stream(connection, connection.getresponse())
