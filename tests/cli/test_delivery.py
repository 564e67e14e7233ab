"""A message is seen to its end over connections that break, and never handed in as two."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from hermes.cli.client import Client, Declined, NotHermes, Unreachable
from hermes.cli.delivery import Delivery
from tests.cli.scripted import Scripted, frame, stream

BODY = {"request_id": "r-1", "text": "复述 你好"}
RECEIVED = {"type": "TASK_RECEIVED", "seq": 1}
STARTED = {"type": "TOOL_STARTED", "seq": 2}
PROGRESS = {"type": "PROGRESS", "seq": 3, "text": "正在复述 1/2", "percent": 50}
SUCCEEDED = {"type": "TOOL_SUCCEEDED", "seq": 4}
ASKED = {"type": "PROGRESS", "seq": 2, "stage": "awaiting_confirmation", "text": "执行吗？"}
UNDECIDED = {"request_id": "r-1", "status": "awaiting_confirmation"}
APPROVED = UNDECIDED | {"confirmation": {"approved": True}}
DONE = {"request_id": "r-1", "status": "succeeded"}
RUNNING = {"request_id": "r-1", "status": "running"}


class Heard(list[dict[str, Any]]):
    """The events that were told, and the questions that were asked; `answers` are given to them in turn."""

    def __init__(self) -> None:
        super().__init__()
        self.questions: list[dict[str, Any]] = []
        self.answers: list[bool | Unreachable] = []

    def delivery(self, url: str, *, deadline: float | None = None, accepted: bool = False) -> Delivery:
        return Delivery(
            Client(url),
            BODY,
            on_event=self.append,
            on_question=self._answer,
            deadline=deadline,
            accepted=accepted,
        )

    def deliver(self, url: str, *, deadline: float | None = None, accepted: bool = False) -> dict[str, Any]:
        return self.delivery(url, deadline=deadline, accepted=accepted).run()

    def _answer(self, record: dict[str, Any]) -> bool:
        self.questions.append(record)
        answer = self.answers.pop(0)
        if isinstance(answer, Unreachable):
            raise answer
        return answer


@pytest.fixture
def heard() -> Heard:
    return Heard()


def test_the_story_is_told_and_the_record_returned(scripted: Scripted, heard: Heard) -> None:
    scripted.say(stream(frame(RECEIVED, 1), frame(STARTED, 2), frame(SUCCEEDED, 4)))
    scripted.say_json(DONE)
    assert heard.deliver(scripted.start()) == DONE
    assert heard == [RECEIVED, STARTED, SUCCEEDED]
    assert [(asked.method, asked.path) for asked in scripted.asked] == [
        ("POST", "/v1/messages"),
        ("GET", "/v1/messages/r-1"),
    ]
    assert scripted.asked[0].body == BODY


def test_a_stream_that_breaks_is_taken_up_after_the_last_event(scripted: Scripted, heard: Heard) -> None:
    cut_off = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = frame(RECEIVED, 1) + frame(STARTED, 2)
    scripted.say(cut_off + b"%x\r\n%s\r\n4" % (len(body), body))
    scripted.say(stream(frame(PROGRESS, 3)))
    scripted.say_json(RUNNING)
    scripted.say(stream(frame(SUCCEEDED, 4)))
    scripted.say_json(DONE)
    assert heard.deliver(scripted.start()) == DONE
    assert heard == [RECEIVED, STARTED, PROGRESS, SUCCEEDED]
    again = [asked for asked in scripted.asked if asked.path.endswith("/events")]
    assert [(asked.method, asked.headers["last-event-id"]) for asked in again] == [("GET", "2"), ("GET", "3")]


def test_a_message_whose_answer_was_lost_is_sent_again_under_the_same_id(
    scripted: Scripted, heard: Heard
) -> None:
    scripted.hang_up()
    scripted.say(stream(frame(RECEIVED, 1), frame(SUCCEEDED, 2)))
    scripted.say_json(DONE)
    assert heard.deliver(scripted.start()) == DONE
    assert [asked.body for asked in scripted.asked] == [BODY, BODY, None]


@pytest.mark.parametrize("reason", ["shutdown", "slow", "gap"])
def test_a_stream_that_the_daemon_ends_is_taken_up_again(
    scripted: Scripted, heard: Heard, reason: str
) -> None:
    word = f'event: stream\ndata: {{"reason": "{reason}"}}\n\n'.encode()
    scripted.say(stream(frame(RECEIVED, 1), word))
    scripted.say_json(RUNNING)
    scripted.say(stream(frame(SUCCEEDED, 2)))
    scripted.say_json(DONE)
    assert heard.deliver(scripted.start()) == DONE
    assert heard == [RECEIVED, SUCCEEDED]
    assert scripted.asked[2].headers["last-event-id"] == "1"


def test_streams_that_only_say_that_the_daemon_stops_lose_no_place(scripted: Scripted, heard: Heard) -> None:
    word = b'event: stream\ndata: {"reason": "shutdown"}\n\n'
    scripted.say(stream(frame(RECEIVED, 1), word))
    for _ in range(2):
        scripted.say_json(RUNNING)
        scripted.say(stream(word))
    scripted.say_json(RUNNING)
    scripted.say(stream(frame(SUCCEEDED, 2)))
    scripted.say_json(DONE)
    assert heard.deliver(scripted.start()) == DONE
    assert heard == [RECEIVED, SUCCEEDED]
    again = [asked for asked in scripted.asked if asked.path.endswith("/events")]
    assert [asked.headers.get("last-event-id") for asked in again] == ["1", "1", "1"]


def test_a_message_that_ended_while_nobody_listened_is_found_by_its_record(
    scripted: Scripted, heard: Heard
) -> None:
    scripted.say(stream(frame(RECEIVED, 1)))
    scripted.say_json(DONE)
    assert heard.deliver(scripted.start()) == DONE


def test_at_the_deadline_the_record_is_returned_as_it_is(scripted: Scripted, heard: Heard) -> None:
    over = threading.Event()
    scripted.say(stream(frame(RECEIVED, 1)), over)
    scripted.say_json(RUNNING)
    threading.Timer(0.3, over.set).start()
    assert heard.deliver(scripted.start(), deadline=time.monotonic() + 0.1) == RUNNING
    assert heard == [RECEIVED]


def paths(scripted: Scripted) -> list[str]:
    return [f"{asked.method} {asked.path.removeprefix('/v1/messages')}" for asked in scripted.asked]


def test_a_question_is_asked_with_the_record_and_then_the_story_goes_on(
    scripted: Scripted, heard: Heard
) -> None:
    heard.answers = [True]
    scripted.say(stream(frame(RECEIVED, 1), frame(ASKED, 2), frame(STARTED, 3)))
    scripted.say_json(UNDECIDED)
    scripted.say(stream(frame(STARTED, 3), frame(SUCCEEDED, 4)))
    scripted.say_json(DONE)
    assert heard.deliver(scripted.start()) == DONE
    assert heard.questions == [UNDECIDED]
    assert heard == [RECEIVED, ASKED, STARTED, SUCCEEDED]
    assert scripted.asked[2].headers["last-event-id"] == "2"


def test_a_question_whose_event_was_lost_with_the_connection_is_asked_all_the_same(
    scripted: Scripted, heard: Heard
) -> None:
    heard.answers = [True]
    scripted.say(stream(frame(RECEIVED, 1)))
    scripted.say_json(UNDECIDED)
    scripted.say(stream(frame(ASKED, 2)))
    scripted.say_json(RUNNING)
    scripted.say(stream(frame(SUCCEEDED, 3)))
    scripted.say_json(DONE)
    assert heard.deliver(scripted.start()) == DONE
    assert heard.questions == [UNDECIDED]


def test_a_question_that_is_left_open_ends_the_waiting(scripted: Scripted, heard: Heard) -> None:
    heard.answers = [False]
    scripted.say(stream(frame(ASKED, 1)))
    scripted.say_json(UNDECIDED)
    assert heard.deliver(scripted.start()) == UNDECIDED


def test_an_answer_that_could_not_be_handed_in_is_asked_for_again_before_the_story_goes_on(
    scripted: Scripted, heard: Heard
) -> None:
    heard.answers = [Unreachable("gone", sent=False), True]
    scripted.say(stream(frame(ASKED, 1)))
    scripted.say_json(UNDECIDED)
    scripted.hang_up()
    scripted.say_json(UNDECIDED)
    scripted.say(stream(frame(SUCCEEDED, 2)))
    scripted.say_json(DONE)
    assert heard.deliver(scripted.start()) == DONE
    assert paths(scripted) == ["POST ", "GET /r-1", "GET /r-1", "GET /r-1", "GET /r-1/events", "GET /r-1"]


def test_a_message_that_was_accepted_and_decided_before_is_only_followed(
    scripted: Scripted, heard: Heard
) -> None:
    scripted.say(stream(frame(RECEIVED, 1), frame(ASKED, 2), frame(STARTED, 3), frame(SUCCEEDED, 4)))
    scripted.say_json(DONE)
    scripted.say(stream(frame(STARTED, 3), frame(SUCCEEDED, 4)))
    scripted.say_json(DONE)
    assert heard.deliver(scripted.start(), accepted=True) == DONE
    assert heard == [RECEIVED, ASKED, STARTED, SUCCEEDED]
    assert paths(scripted) == ["GET /r-1/events", "GET /r-1"] * 2
    assert heard.questions == []


@pytest.mark.parametrize("approved", [True, False])
def test_a_decided_message_that_no_worker_has_taken_yet_is_followed_without_a_question(
    scripted: Scripted, heard: Heard, *, approved: bool
) -> None:
    decided = UNDECIDED | {"confirmation": {"approved": approved}}
    scripted.say(stream(frame(RECEIVED, 1), frame(ASKED, 2)))
    scripted.say_json(decided)
    scripted.say(stream())
    scripted.say_json(decided)
    scripted.say(stream(frame(STARTED, 3), frame(SUCCEEDED, 4)))
    scripted.say_json(DONE)
    assert heard.deliver(scripted.start(), accepted=True) == DONE
    assert heard == [RECEIVED, ASKED, STARTED, SUCCEEDED]
    assert heard.questions == []


def test_an_approved_message_that_waits_for_a_worker_at_the_deadline_is_returned_as_it_is(
    scripted: Scripted, heard: Heard
) -> None:
    scripted.say(stream(frame(ASKED, 1)))
    scripted.say_json(APPROVED)
    assert heard.deliver(scripted.start(), deadline=time.monotonic(), accepted=True) == APPROVED


def test_a_daemon_that_is_gone_at_the_deadline_is_told(scripted: Scripted, heard: Heard) -> None:
    scripted.say(stream(frame(RECEIVED, 1)))
    delivery = heard.delivery(scripted.start(), deadline=time.monotonic() + 0.5)
    with pytest.raises(Unreachable):
        delivery.run()
    assert delivery.sent
    assert heard == [RECEIVED]


def test_a_message_that_could_not_be_sent_is_told_at_once(scripted: Scripted, heard: Heard) -> None:
    delivery = heard.delivery("http://127.0.0.1:1")
    with pytest.raises(Unreachable):
        delivery.run()
    assert not delivery.sent


def test_a_message_that_is_not_taken_is_told(scripted: Scripted, heard: Heard) -> None:
    problem = {"status": 429, "detail": "10 messages are waiting already", "code": "rate_limited"}
    scripted.say_json(problem, "429 Too Many Requests", "application/problem+json")
    with pytest.raises(Declined, match="rate_limited: 10 messages"):
        heard.deliver(scripted.start())


@pytest.mark.parametrize("data", ["nonsense", "[1]"])
def test_an_event_that_is_no_object_is_not_of_hermes(scripted: Scripted, heard: Heard, data: str) -> None:
    scripted.say(stream(f"event: PROGRESS\ndata: {data}\n\n".encode()))
    with pytest.raises(NotHermes):
        heard.deliver(scripted.start())
