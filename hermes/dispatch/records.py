"""How records and events are written and read back. One JSON serves the journal, the record's readers and the streams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import orjson
from pydantic import TypeAdapter

from hermes.bus import Published
from hermes.dispatch.sentences import Locale, say
from hermes.dispatch.story import frame_of
from hermes.journal.base import Entry
from hermes.messages import Event, PluginRef, Record, ResultEnvelope
from hermes.values import value

_LOCALES: tuple[Locale, ...] = ("zh", "en")


@value
class WrittenEnvelope:
    """An envelope as it is shown, and the raw data apart if it is too large to be shown with it."""

    shown: orjson.Fragment
    apart: bytes | None
    data_bytes: int


def write_envelope(envelope: ResultEnvelope, *, inline_bytes: int, locale: Locale) -> WrittenEnvelope:
    """Write an envelope; data over `inline_bytes` goes apart and leaves a warning in its place."""
    data = orjson.dumps(envelope.data)
    apart, warning = None, envelope.warning
    if len(data) > inline_bytes:
        apart, data = data, b"null"
        note = say("not_inline", locale, size=len(apart))
        warning = f"{warning} {note}" if warning else note
    members = {
        "data": orjson.Fragment(data),
        "error": envelope.error,
        "elapsed_ms": envelope.elapsed_ms,
        "warning": warning,
    }
    return WrittenEnvelope(orjson.Fragment(orjson.dumps(members)), apart, len(apart or data))


def write_fixed(record: Record) -> bytes:
    """Write what never changes in a record; written once, it is part of every writing of the record."""
    return orjson.dumps(record.fixed())


def write_record(
    record: Record, fixed: bytes, *, envelope: WrittenEnvelope | None = None, claim: PluginRef | None = None
) -> bytes:
    """Write a record as it is shown, around its `fixed` part; with `claim` as one that this plugin has begun to run."""
    members = record.changing()
    if claim is not None:
        members |= {"status": "running", "attempts": record.attempts + 1, "plugin": claim}
    if envelope is not None:
        members["envelope"] = envelope.shown
    return b"%s,%s" % (fixed[:-1], orjson.dumps(members)[1:])


def read_record(entry: Entry) -> Record:
    """Return the record in an entry; raises ValueError if it is none."""
    # Read by what wrote it: the JSON parser of pydantic gives up at a depth that is accepted here.
    return _reader().validate_python(orjson.loads(entry.record))


@cache
def _reader() -> TypeAdapter[Record]:
    return TypeAdapter(Record)  # made when there is something to recover, which is seldom


def raw_data(entry: Entry) -> bytes | None:
    """Return the raw data of an entry that has ended, as JSON; None if there is none."""
    if entry.data is not None:
        return entry.data
    envelope = orjson.loads(entry.record)["envelope"]
    data = None if envelope is None else envelope["data"]
    return None if data is None else orjson.dumps(data)


def read_envelope(entry: Entry) -> ResultEnvelope:
    """Return the envelope of an entry that has ended, with its data wherever that is kept."""
    envelope = read_record(entry).envelope or ResultEnvelope()
    if entry.data is None:
        return envelope
    warning = envelope.warning or ""
    for locale in _LOCALES:
        warning = warning.removesuffix(say("not_inline", locale, size=len(entry.data))).rstrip()
    return replace(envelope, data=orjson.loads(entry.data), warning=warning or None)


def write_events(told: Sequence[Published]) -> bytes:
    """Write a story without its terminal event, which is told after this is safe and follows from the record."""
    if not told:
        return b"[]"
    return b"[" + b",".join(one.body for one in told) + b"]"


def end_fields(envelope: orjson.Fragment, digest: str | None, *, raw: str | None) -> dict[str, Any]:
    """Return the members of the event that ends a story; `raw` is where the data is if it is not shown."""
    fields = {"envelope": envelope, "digest": digest}
    return fields if raw is None else {**fields, "links": {"raw": raw}}


def _shown(envelope: dict[str, Any]) -> orjson.Fragment:
    # The data by itself: it may be nested as deeply as can be written, and an event is two levels more.
    data = orjson.Fragment(orjson.dumps(envelope["data"]))
    return orjson.Fragment(orjson.dumps({**envelope, "data": data}))


def _raw_link(record: dict[str, Any], apart: bytes | None) -> str | None:
    return None if apart is None else str(record["links"]["raw"])


def replay(entry: Entry, *, after: int) -> Iterator[bytes]:
    """Yield the frames of a message as it is kept, those of a higher number than `after`."""
    for event in read_events(entry):
        number = round(event["timestamp"] * 1e6)
        if number > after:
            ids = (entry.owner, entry.request_id, entry.session_id)
            yield frame_of(Published(number, *ids, event["seq"], event["type"], orjson.dumps(event)))


def read_events(entry: Entry) -> list[dict[str, Any]]:
    """Return the story of a message as it is kept; its first event follows from the record, and so does its last."""
    record = orjson.loads(entry.record)
    told: list[dict[str, Any]] = orjson.loads(entry.events)
    ids = (entry.request_id, entry.session_id)
    if not told:
        told = [Event("TASK_RECEIVED", *ids, 1, record["received_at"]).to_dict()]
    if entry.finished_at is None:
        return told
    last = Event(
        "TOOL_SUCCEEDED" if entry.status == "succeeded" else "TOOL_FAILED",
        *ids,
        len(told) + 1,
        record["finished_at"],
        end_fields(_shown(record["envelope"]), record["digest"], raw=_raw_link(record, entry.data)),
    )
    return [*told, last.to_dict()]
