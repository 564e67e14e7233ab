"""The table of open questions: one a session, for a time, and closed by whatever comes next."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hermes.dispatch.questions import OpenQuestion, Option, Questions, goes_on, question_of
from hermes.messages import ErrorInfo, PluginRef, Principal, Record, ResultEnvelope
from tests.support.messages import a_message, a_record
from tests.support.moved_clock import MovedClock

KEY = ("local:local", "s")
QUESTION = OpenQuestion("r1", 5, "哪一个？", "", (Option(1, "a", "A"), Option(2, "b", "B")), (), 1600.0)


@pytest.fixture
def clock() -> MovedClock:
    return MovedClock()


@pytest.fixture
def questions(clock: MovedClock) -> Questions:
    """A table with one question, of a message with the number 5."""
    table = Questions(now=clock, limit=3)
    put(table, KEY, QUESTION)
    return table


def put(table: Questions, key: tuple[str, str], question: OpenQuestion) -> None:
    table.announce(key, question.number)
    table.ask(key, question)


def test_a_question_is_open_until_it_expires(questions: Questions, clock: MovedClock) -> None:
    clock.now = 1599.9
    assert questions.get(*KEY) is QUESTION
    assert questions.get("key:ci", "s") is questions.get("local:local", "t") is None
    clock.now = 1600.0
    assert questions.get(*KEY) is None
    assert questions.close(*KEY) is False
    assert len(questions) == 0


def test_closing_says_whether_there_was_a_question(questions: Questions) -> None:
    assert questions.close(*KEY) is True
    assert questions.close(*KEY) is False
    assert questions.get(*KEY) is None


def test_a_newer_message_closes_a_question_and_an_older_one_does_not(questions: Questions) -> None:
    questions.supersede(KEY, 4)
    assert questions.get(*KEY) is QUESTION
    questions.supersede(KEY, 6)
    assert questions.get(*KEY) is None


def test_a_message_that_comes_while_another_is_about_to_ask_keeps_it_from_asking(
    questions: Questions,
) -> None:
    later = replace(QUESTION, number=7)
    questions.announce(KEY, 7)
    questions.supersede(KEY, 6)
    questions.supersede(KEY, 8)
    questions.ask(KEY, later)
    assert questions.get(*KEY) is None
    put(questions, KEY, later)
    assert questions.get(*KEY) is later


def test_what_is_renounced_or_closed_is_not_asked(questions: Questions) -> None:
    later = replace(QUESTION, number=7)
    questions.announce(KEY, 7)
    questions.renounce(KEY, 7)
    questions.ask(KEY, later)
    assert questions.get(*KEY) is QUESTION
    questions.announce(KEY, 7)
    questions.close(*KEY)
    questions.ask(KEY, later)
    assert questions.get(*KEY) is None


def test_of_two_that_ask_at_once_the_newer_does(questions: Questions) -> None:
    questions.announce(KEY, 8)
    questions.announce(KEY, 7)
    questions.ask(KEY, replace(QUESTION, number=7))
    questions.ask(KEY, replace(QUESTION, number=8))
    found = questions.get(*KEY)
    assert found is not None
    assert found.number == 8


def test_a_question_is_taken_once_and_can_be_given_back(questions: Questions) -> None:
    assert questions.take(KEY, QUESTION)
    assert not questions.take(KEY, QUESTION)
    assert questions.get(*KEY) is None
    questions.give_back(KEY, QUESTION)
    assert questions.get(*KEY) is QUESTION


def test_a_question_that_was_answered_or_closed_meanwhile_is_not_given_back(questions: Questions) -> None:
    assert questions.take(KEY, QUESTION)
    questions.supersede(KEY, 6)
    questions.give_back(KEY, QUESTION)
    assert questions.get(*KEY) is None


def test_another_question_is_not_taken_for_it(questions: Questions) -> None:
    other = replace(QUESTION, number=6)
    put(questions, KEY, other)
    assert not questions.take(KEY, QUESTION)
    assert questions.take(KEY, other)


def test_beyond_the_limit_the_oldest_question_is_closed(questions: Questions) -> None:
    for number in range(6, 9):
        put(questions, ("local:local", f"s{number}"), replace(QUESTION, number=number))
    assert len(questions) == 3
    assert questions.get(*KEY) is None
    assert questions.get("local:local", "s6") is not None


def test_what_has_expired_goes_before_what_is_open(questions: Questions, clock: MovedClock) -> None:
    clock.now = 1600.0
    put(questions, ("local:local", "t"), replace(QUESTION, number=6, expires_at=2200.0))
    assert len(questions) == 1


def test_what_an_earlier_process_left_is_restored_unless_something_came_since(clock: MovedClock) -> None:
    table = Questions(now=clock)
    assert not table.is_settled(KEY)
    table.restore(KEY, QUESTION)
    assert (table.is_settled(KEY), table.get(*KEY)) == (True, QUESTION)
    table.restore(KEY, replace(QUESTION, number=9))
    assert table.get(*KEY) is QUESTION
    closed, superseded = ("local:local", "t1"), ("local:local", "t2")
    table.close(*closed)
    table.supersede(superseded, 9)
    for key in (closed, superseded):
        table.restore(key, QUESTION)
        assert table.get(*key) is None
    table.restore(("local:local", "nothing"), None)
    assert table.is_settled(("local:local", "nothing"))
    assert not table.is_settled(("local:local", "u"))
    table.settle()
    assert table.is_settled(("local:local", "u"))
    table.restore(("local:local", "u"), QUESTION)
    assert table.get("local:local", "u") is None


DATA = {
    "question": "哪一个？",
    "options": [{"n": 1, "intent": "a", "label": "A"}, {"n": 2, "intent": "b", "label": "B"}],
    "missing": [],
    "expires_at": 1600.0,
}


def asked(data: Any = DATA, code: str = "clarification_needed", **members: Any) -> Record:
    record = a_record(message=a_message(intent="", source=members.pop("source", "api")), **members)
    record.envelope = ResultEnvelope(data, ErrorInfo(code, "哪一个？"))
    return record


def test_a_question_is_read_from_its_record() -> None:
    assert question_of(asked(), number=5) == QUESTION
    person = Principal("webhook", "chat", "chat:anna")
    assert question_of(asked(principal=person, source="im"), number=5) == replace(
        QUESTION, person="chat:anna"
    )
    missing = asked({**DATA, "options": [], "missing": ["project"]})
    assert question_of(missing, number=5) == replace(QUESTION, options=(), missing=("project",))


@pytest.mark.parametrize(
    "record",
    [
        a_record(),
        asked(code="no_match"),
        asked(source="cron"),
        asked(source="webhook"),
        asked(parent="r0"),
        asked(plugin=PluginRef("p", "1", "x")),
        asked(None),
        asked({"question": "?"}),
        asked({**DATA, "options": [{}]}),
    ],
)
def test_what_nobody_can_answer_is_no_question(record: Record) -> None:
    assert question_of(record, number=5) is None


@pytest.mark.parametrize(
    ("intent", "parent", "further"),
    [
        ("", None, True),
        ("a", None, True),
        ("a", "r0", False),
        ("/help", None, False),
        ("/status", None, False),
    ],
)
def test_a_talk_goes_on_with_messages_from_outside_but_not_with_a_cry_for_help(
    intent: str, parent: str | None, *, further: bool
) -> None:
    assert goes_on(a_record(message=a_message(intent=intent), parent=parent)) is further
