"""Journal entries for tests: whole and different from each other, whatever a test does not care about."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hermes.journal.base import Entry, Journal


def entry(journal: Journal, **members: Any) -> Entry:
    """Return a new entry of a message that was just accepted, with these members; its id is the journal's next."""
    number = journal.next_id()
    plain = Entry(
        id=number,
        owner="local:local",
        request_id=f"r{number}",
        session_id="s1",
        status="accepted",
        code=None,
        plugin=None,
        origin=None,
        received_at=1_700_000_000.25 + number,
        finished_at=None,
        fingerprint=b"f%d" % number,
        record=f'{{"text":"部署 web 🚀 {number}"}}'.encode(),
        data=None,
        events=b"[]",
    )
    return replace(plain, **members)


def listed(*entries: Entry) -> list[Entry]:
    """Return entries as a list shows them: without data and events."""
    return [replace(one, data=None, events=b"[]") for one in entries]


def ended(accepted: Entry, **members: Any) -> Entry:
    """Return the entry at its end: succeeded, unless `members` say otherwise."""
    finished: dict[str, Any] = {
        "status": "succeeded",
        "plugin": "echo",
        "finished_at": accepted.received_at + 0.5,
        "record": accepted.record[:-1] + b',"status":"succeeded"}',
        "events": b'[{"type":"TASK_RECEIVED"}]',
    }
    return replace(accepted, **(finished | members))
