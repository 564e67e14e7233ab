from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from hermes.bus import Bus, Published
from hermes.dispatch.story import Story, frame_of
from tests.support.bench import eventually
from tests.support.logbook import Logbook
from tests.support.messages import a_message


@pytest.fixture
def bus() -> Bus:
    return Bus(on_slow=lambda: None)


@pytest.fixture
def story(bus: Bus, book: Logbook) -> Story:
    return Story(a_message(), "local:local", bus=bus, lines=book.logs.events)


def told(story: Story) -> list[dict[str, Any]]:
    return [json.loads(one.body) for one in story.told]


def texts(story: Story) -> list[str]:
    return [event["text"] for event in told(story) if event["type"] == "PROGRESS"]


async def test_events_are_numbered_from_one_and_carry_their_members(story: Story) -> None:
    story.tell("TASK_RECEIVED")
    story.tell("TOOL_STARTED", attempt=1, plugin="天气")
    story.tell("TOOL_SUCCEEDED", number=1_700_000_000_250_000, envelope={"data": None}, digest="–")
    first, second, last = told(story)
    assert 0 < first.pop("timestamp") <= second.pop("timestamp")
    ids = {"request_id": "r1", "session_id": "s1"}
    assert first == {"type": "TASK_RECEIVED", **ids, "seq": 1}
    assert second == {"type": "TOOL_STARTED", **ids, "seq": 2, "attempt": 1, "plugin": "天气"}
    assert last == {
        "type": "TOOL_SUCCEEDED",
        **ids,
        "seq": 3,
        "timestamp": 1_700_000_000.25,
        "envelope": {"data": None},
        "digest": "–",
    }


async def test_every_event_is_published_and_is_one_line_of_the_log(bus: Bus, book: Logbook) -> None:
    story = Story(a_message(intent='odd "intent"\n'), "key:ci", bus=bus, lines=book.logs.events)
    following = bus.follow(("key:ci", "r1"), [])
    story.tell("TASK_RECEIVED")
    story.set_plugin("天气")
    story.tell("TOOL_STARTED", attempt=1)
    story.tell("TOOL_FAILED")
    following.close("ended")
    assert [one async for one in following.events()] == story.told
    lines = [(line["event"], line["plugin"], line["seq"]) for line in book.lines(request_id="r1")]
    assert lines == [("TASK_RECEIVED", None, 1), ("TOOL_STARTED", "天气", 2), ("TOOL_FAILED", "天气", 3)]
    assert {(line["session_id"], line["intent"]) for line in book.lines()} == {("s1", 'odd "intent"\n')}


async def test_progress_is_told_at_once_and_of_many_lines_the_newest_wins(story: Story) -> None:
    for number in range(100):
        story.progress(f"步骤 {number}", number)
    assert texts(story) == ["步骤 0"]
    await eventually(lambda: len(story.told) > 1)
    assert texts(story) == ["步骤 0", "步骤 99"]
    assert [event["percent"] for event in told(story)] == [0, 99]


async def test_at_most_twenty_lines_of_progress_a_second_are_kept(story: Story) -> None:
    loop = asyncio.get_running_loop()
    started = loop.time()
    while len(story.told) < 5:
        story.progress("tick")
        await asyncio.sleep(0)
    seconds = loop.time() - started
    assert len(story.told) <= 20 * seconds + 2


async def test_progress_that_is_held_back_is_told_before_the_next_event(story: Story) -> None:
    story.progress("first")
    story.progress("held back")
    story.tell("TOOL_FAILED")
    assert [event["type"] for event in told(story)] == ["PROGRESS", "PROGRESS", "TOOL_FAILED"]
    assert texts(story) == ["first", "held back"]
    assert [event["seq"] for event in told(story)] == [1, 2, 3]


async def test_once_closed_a_story_holds_all_there_was_and_only_its_end_follows(story: Story) -> None:
    story.progress("first")
    story.progress("held back")
    story.close()
    assert texts(story) == ["first", "held back"]
    story.progress("too late")
    ended = [story.ended]
    story.tell("TOOL_SUCCEEDED")
    assert [*ended, story.ended] == [False, True]
    story.progress("even later")
    assert len(story.told) == 3


async def test_progress_has_its_limits(story: Story) -> None:
    story.progress("长" * 5000, 250)
    story.tell("TOOL_STARTED")
    story.progress("", -3, stage="answer")
    story.tell("TOOL_FAILED")
    first, _, second, _ = told(story)
    assert (first["text"], first["percent"], "stage" in first) == ("长" * 1000, 100, False)
    assert (second["text"], second["percent"], second["stage"]) == ("", 0, "answer")


async def test_a_frame_has_an_id_for_both_kinds_of_stream(story: Story) -> None:
    story.tell("TASK_RECEIVED")
    published: Published = story.told[0]
    assert frame_of(published) == b"id: %d-1\nevent: TASK_RECEIVED\ndata: %b\n\n" % (
        published.number,
        published.body,
    )
    assert b"\n" not in published.body


async def test_what_an_earlier_process_told_is_part_of_the_story_and_told_to_nobody_again(
    story: Story, bus: Bus
) -> None:
    listener, _ = bus.subscribe(lambda _: True)
    story.recall([{"type": "TASK_RECEIVED", "seq": 1, "timestamp": 1_700_000_000.25, "text": "早"}])
    story.tell("TOOL_STARTED", attempt=2)
    bus.close("shutdown")
    assert [one.type async for one in listener.events()] == ["TOOL_STARTED"]
    assert [(event["type"], event["seq"]) for event in told(story)] == [
        ("TASK_RECEIVED", 1),
        ("TOOL_STARTED", 2),
    ]
    assert (told(story)[0]["timestamp"], told(story)[0]["text"]) == (1_700_000_000.25, "早")
