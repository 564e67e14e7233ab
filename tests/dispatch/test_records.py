from __future__ import annotations

import json
from typing import Any

import pytest

from hermes.bus import Bus
from hermes.dispatch.live import Live
from hermes.dispatch.records import end_fields, raw_data, read_record, replay, write_envelope
from hermes.dispatch.story import Story, frame_of
from hermes.journal.base import Entry
from hermes.messages import (
    Candidate,
    Confirmation,
    Decision,
    ErrorInfo,
    Match,
    PluginRef,
    Principal,
    Record,
    ResultEnvelope,
)
from tests.support.logbook import Logbook
from tests.support.messages import a_message, a_record

MEMBERS = {
    "request_id",
    "session_id",
    "status",
    "message",
    "principal",
    "decision",
    "plugin",
    "envelope",
    "digest",
    "attempts",
    "parent",
    "resumes",
    "retry_of",
    "confirmation",
    "metadata",
    "received_at",
    "finished_at",
    "links",
}


def a_live(record: Record, book: Logbook) -> Live:
    bus = Bus(on_slow=lambda: None)
    return Live(
        id=7,
        fingerprint=b"f",
        record=record,
        locale="zh",
        story=Story(record.message, record.principal.owner, bus=bus, lines=book.logs.events),
    )


def ended(live: Live, envelope: ResultEnvelope, *, inline_bytes: int = 1000) -> Entry:
    """End a message as the pipeline does, and return what the journal is given."""
    record = live.record
    record.status = "succeeded" if envelope.error is None else "failed"
    number = live.story.next_number()
    record.envelope, record.digest, record.finished_at = envelope, "摘要", number / 1e6
    written = write_envelope(envelope, inline_bytes=inline_bytes, locale=live.locale)
    entry = live.to_entry(written)
    event = "TOOL_SUCCEEDED" if envelope.error is None else "TOOL_FAILED"
    raw = None if written.apart is None else record.links["raw"]
    live.story.tell(event, number=number, **end_fields(written.shown, record.digest, raw=raw))  # type: ignore[arg-type]
    return entry


def frames(data: list[bytes]) -> list[tuple[int, str, Any]]:
    """Return seq, type and body of frames."""
    found = []
    for frame in data:
        number, kind, body, *end = frame.decode().split("\n")
        assert (number[:4], kind[:7], body[:6], end) == ("id: ", "event: ", "data: ", ["", ""])
        found.append((int(number.rpartition("-")[2]), kind[7:], json.loads(body[6:])))
    return found


def test_a_record_has_the_members_of_the_contract(book: Logbook) -> None:
    shown = json.loads(a_live(a_record(message=a_message(request_id="r:1")), book).to_json())
    assert shown.keys() == MEMBERS
    assert shown["message"] == {
        "request_id": "r:1",
        "session_id": "s1",
        "intent": "deploy",
        "payload": {"text": "部署 web 🚀"},
        "source": "api",
        "timestamp": 1e9,
    }
    assert shown["principal"] == {"kind": "local", "id": "local", "person": None}
    assert shown["links"] == {
        "self": "/v1/messages/r:1",
        "events": "/v1/messages/r:1/events",
        "raw": "/v1/messages/r:1/raw",
    }
    assert (shown["status"], shown["envelope"], shown["attempts"]) == ("accepted", None, 0)


def test_a_record_is_read_back_as_it_was(book: Logbook) -> None:
    candidates = (Candidate("deploy", "ci", 0.9, (Match("部署", 0.9),)), Candidate("other", "x", 0.1))
    record = a_record(
        principal=Principal("webhook", "ops-slack", "slack:U1"),
        decision=Decision("dispatch", "deploy", 0.9, candidates, "把握不大"),
        plugin=PluginRef("ci", "1.0.0", "abc"),
        status="running",
        attempts=2,
        retry_of="r0",
        confirmation=Confirmation(
            "db.drop",
            "db",
            {"表": "用户"},
            1_700_000_600.5,
            by=("ops",),
            approved=True,
            decided_by=Principal("key", "b"),
        ),
        metadata={"深": {"a": [1, None]}},
    )
    assert read_record(a_live(record, book).to_entry(None)) == record
    envelope = ResultEnvelope({"a": [1]}, ErrorInfo("not_found", "没有", retryable=True), 12.5, "w")
    assert read_record(ended(a_live(record, book), envelope)) == record
    assert record.envelope == envelope


def test_what_the_journal_finds_an_entry_by_is_that_of_the_record(book: Logbook) -> None:
    live = a_live(a_record(principal=Principal("key", "ci"), plugin=PluginRef("echo", "1", "h")), book)
    entry = live.to_entry(None)
    assert (entry.id, entry.owner, entry.request_id, entry.session_id) == (7, "key:ci", "r1", "s1")
    assert (entry.status, entry.code, entry.finished_at, entry.fingerprint) == ("accepted", None, None, b"f")
    entry = ended(live, ResultEnvelope(None, ErrorInfo("not_found", "m")))
    assert (entry.status, entry.code, entry.plugin) == ("failed", "not_found", "echo")
    assert entry.finished_at == live.record.finished_at


@pytest.mark.parametrize("warning", [None, "数据不全"])
def test_data_that_is_too_large_to_be_shown_is_kept_apart_and_whole(
    book: Logbook, warning: str | None
) -> None:
    data = {"text": "大" * 1000}
    entry = ended(a_live(a_record(), book), ResultEnvelope(data, warning=warning), inline_bytes=3000)
    shown = json.loads(entry.record)["envelope"]
    assert shown["data"] is None
    assert "3011 字节" in shown["warning"]
    assert "links.raw" in shown["warning"]
    assert warning is None or shown["warning"].startswith(warning)
    assert json.loads(raw_data(entry) or b"") == data


def test_data_of_just_the_limit_is_shown(book: Logbook) -> None:
    size = len(b'"' + b"x" * 98 + b'"')
    entry = ended(a_live(a_record(), book), ResultEnvelope("x" * 98), inline_bytes=size)
    assert json.loads(entry.record)["envelope"]["data"] == "x" * 98
    assert (entry.data, raw_data(entry)) == (None, b'"' + b"x" * 98 + b'"')


def test_a_message_without_data_has_no_raw_data(book: Logbook) -> None:
    assert raw_data(ended(a_live(a_record(), book), ResultEnvelope(None))) is None
    assert raw_data(a_live(a_record(), book).to_entry(None)) is None


@pytest.mark.parametrize("error", [None, ErrorInfo("not_found", "没有")])
@pytest.mark.parametrize("inline_bytes", [10, 1000])
async def test_the_story_that_is_replayed_is_the_one_that_was_told(
    book: Logbook, error: ErrorInfo | None, inline_bytes: int
) -> None:
    live = a_live(a_record(), book)
    live.story.tell("TASK_RECEIVED")
    live.story.tell("TOOL_STARTED", attempt=1)
    live.story.progress("正在想", 50)
    live.story.progress("held back")
    live.story.close()
    entry = ended(live, ResultEnvelope("data over ten bytes", error), inline_bytes=inline_bytes)
    was_told = frames([frame_of(one) for one in live.story.told])
    assert [kind for _, kind, _ in was_told] == [
        *("TASK_RECEIVED", "TOOL_STARTED", "PROGRESS", "PROGRESS"),
        "TOOL_SUCCEEDED" if error is None else "TOOL_FAILED",
    ]
    assert frames(list(replay(entry, after=0))) == was_told
    for place, one in enumerate(live.story.told, 1):
        assert frames(list(replay(entry, after=one.number))) == was_told[place:]


async def test_replayed_events_have_the_ids_that_they_were_told_with(book: Logbook) -> None:
    live = a_live(a_record(), book)
    for _ in range(20):
        live.story.tell("TOOL_STARTED", attempt=1)
    entry = ended(live, ResultEnvelope(1))
    told = [frame_of(one).split(b"\n")[0] for one in live.story.told]
    assert [frame.split(b"\n")[0] for frame in replay(entry, after=0)] == told


def test_the_end_of_a_message_is_not_shown_before_it_is_safe(book: Logbook) -> None:
    live = a_live(a_record(attempts=1, status="running"), book)
    live.ending = True
    entry = ended(live, ResultEnvelope("secret until safe"))
    shown = json.loads(live.to_json())
    assert (shown["status"], shown["envelope"], shown["digest"], shown["finished_at"]) == (
        "running",
        None,
        None,
        None,
    )
    live.written = entry.record
    assert json.loads(live.to_json())["status"] == "succeeded"
