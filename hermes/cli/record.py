"""Shows one record and its story on the terminal. It fetches the story and nothing else."""

from __future__ import annotations

import json
import time
from typing import Any

from hermes.cli.client import Client
from hermes.cli.delivery import event_of, is_undecided
from hermes.cli.markdown import print_markdown
from hermes.cli.question import description, waiting
from hermes.cli.terminal import local_time, print_facts, print_table, print_text
from hermes.cli.text import one_line
from hermes.messages import TERMINAL

_STORY = 1.0  # seconds in which the story so far has come, of a message that has not ended


def error_of(record: dict[str, Any]) -> dict[str, Any] | None:
    """Return the error that a message ended with."""
    error: dict[str, Any] | None = (record["envelope"] or {}).get("error")
    return error


def asked_back(record: dict[str, Any]) -> bool:
    """Say whether a message ended with a question of Hermes; one of a plugin may look like anything."""
    error = error_of(record) or {}
    return (
        error.get("code") == "clarification_needed"
        and record["plugin"] is None
        and bool(record["envelope"]["data"])
    )


def asked(message: dict[str, Any]) -> str:
    """Return what was asked for: the text, or the payload as JSON if there is none."""
    payload = message["payload"]
    if isinstance(payload.get("text"), str):
        return str(payload["text"])
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":")) if payload else ""


def print_record(record: dict[str, Any]) -> None:
    """Print a record, and its result if it has one."""
    message, plugin, error = record["message"], record["plugin"], error_of(record)
    envelope = record["envelope"] or {}
    facts = {
        "request": record["request_id"],
        "session": record["session_id"],
        "status": record["status"],
        "source": f"{message['source']}, {_name(record['principal'])}",
        "asked": asked(message),
        "intent": f"{message['intent'] or '–'} ({record['decision']['outcome']})",
        "plugin": f"{plugin['name']} {plugin['version']} {plugin['hash']}" if plugin else None,
        "confirm": _confirmation(record),
        "resumes": record["resumes"],
        "retry of": record["retry_of"],
        "attempts": record["attempts"],
        "received": local_time(record["received_at"]),
        "finished": local_time(record["finished_at"]),
        "took": f"{envelope['elapsed_ms']:g} ms" if envelope else None,
        "warning": envelope.get("warning"),
        "error": f"{error['code']}: {error['message']}" if error else None,
    }
    print_facts(facts)
    if is_undecided(record):
        print_text(f"\n{description(record)}\n{waiting(record)}")
    elif record["status"] == "awaiting_confirmation":
        print_text(f"\n{waiting(record)}")
    elif record["digest"] and (not error or asked_back(record)):
        print_text("")
        print_markdown(record["digest"])


def _name(principal: dict[str, Any]) -> str:
    person = f" ({principal['person']})" if principal["person"] else ""
    return f"{principal['kind']}:{principal['id']}{person}"


def _confirmation(record: dict[str, Any]) -> str | None:
    """Return what came of the question whether a call may run, None for one that needs no confirmation."""
    found = record["confirmation"]
    if found is None:
        return None
    asked_by = f"asked by {_name(record['principal'])}, "
    if found["approved"] is not None:
        word = "approved" if found["approved"] else "declined"
        return f"{asked_by}{word} by {_name(found['decided_by'])} at {local_time(found['decided_at'])}"
    if record["status"] != "awaiting_confirmation":
        return f"{asked_by}never decided"
    return f"{asked_by}waits until {local_time(found['expires_at'])} for {_deciders(found)}"


def _deciders(confirmation: dict[str, Any]) -> str:
    named = ", ".join(confirmation["by"])
    if confirmation["other_than_asker"]:
        return f"{named}, but not who asked" if named else "someone other than who asked"
    return named or "who asked, or an admin"


def story_of(client: Client, record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the events of a message, those so far if it has not ended."""
    deadline = None if record["finished_at"] else time.monotonic() + _STORY
    told = []
    with client.stream(f"/v1/messages/{record['request_id']}/events", deadline=deadline) as frames:
        for frame in frames:
            if frame.event != "stream":
                told.append(event_of(frame))
            if frame.event in TERMINAL:
                break
    return told


def print_story(story: list[dict[str, Any]]) -> None:
    """Print events, one a line."""
    started = story[0]["timestamp"] if story else 0.0
    rows = [(f"+{event['timestamp'] - started:.3f} s", event["type"], _detail(event)) for event in story]
    print_text("")
    print_table(("AFTER", "EVENT", "DETAIL"), rows)


def _detail(event: dict[str, Any]) -> str:
    """Return what an event has to say beside its type."""
    error = (event.get("envelope") or {}).get("error") or {}
    percent = event.get("percent")
    parts = (
        None if percent is None else f"{percent:.0f}%",
        event.get("text"),
        event.get("plugin"),
        f"attempt {event['attempt']}" if "attempt" in event else None,
        error.get("code"),
    )
    return one_line(" ".join(str(part) for part in parts if part is not None))
