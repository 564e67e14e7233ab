"""`hermes messages`: what was asked, and what came of it."""

from __future__ import annotations

import json
import time
from typing import Any

import click

from hermes.cli.client import Client
from hermes.cli.delivery import event_of
from hermes.cli.markdown import print_markdown
from hermes.cli.options import calls_daemon, identifier, json_option, sendable
from hermes.cli.terminal import local_time, print_facts, print_json, print_table, print_text, short
from hermes.cli.text import one_line
from hermes.messages import TERMINAL

_PAGE = 50  # records a request
_STORY = 1.0  # seconds in which the story so far has come, of a message that has not ended
_STATUSES = ("accepted", "awaiting_confirmation", "running", "succeeded", "failed")


def _status(value: str) -> str:
    """Return a status. Who gives another word may well mean the code that the list shows beside it."""
    if value not in _STATUSES:
        known = ", ".join(_STATUSES)
        raise click.BadParameter(f"{value!r} is not one of {known}; the code of an error goes to --code")
    return value


@click.group("messages")
def command() -> None:
    """Look at messages that were sent."""


@command.command("list")
@click.option("--status", type=_status, metavar=f"[{'|'.join(_STATUSES)}]", help="Only those of this status.")
@click.option("--session", "session_id", type=identifier, metavar="ID", help="Only those of this session.")
@click.option("--code", type=sendable, metavar="CODE", help="Only those that ended with this error.")
@click.option("--plugin", type=sendable, metavar="NAME", help="Only those that this plugin ran.")
@click.option(
    "--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="How many, newest first."
)
@json_option
@calls_daemon
def list_messages(client: Client, *, limit: int, as_json: bool, **wanted: str | None) -> None:
    """List messages, newest first."""
    found = _select(client, limit, **wanted)
    if as_json:
        print_json(found)
        return
    print_table(
        ("RECEIVED", "REQUEST ID", "STATUS", "CODE", "INTENT", "TEXT"),
        [_row(record) for record in found["items"]],
    )


@command.command("show")
@click.argument("request_id", metavar="ID", type=identifier)
@click.option("--events", is_flag=True, help="Tell its story too.")
@json_option
@calls_daemon
def show_message(client: Client, *, request_id: str, events: bool, as_json: bool) -> None:
    """Show one message: its record, its result, and with --events its story."""
    record = client.get(f"/v1/messages/{request_id}")
    story = _story(client, record) if events else None
    if as_json:
        print_json(record if story is None else record | {"events": story})
        return
    _print_record(record)
    if story is not None:
        _print_story(story)


def _select(client: Client, limit: int, **wanted: str | None) -> dict[str, Any]:
    """Return up to `limit` records in the form that the daemon lists them in."""
    items: list[dict[str, Any]] = []
    cursor = None
    while len(items) < limit:
        page = client.get("/v1/messages", limit=min(_PAGE, limit - len(items)), cursor=cursor, **wanted)
        items += page["items"]
        cursor = page["next"]
        if cursor is None:
            break
    return {"items": items, "next": cursor}


def _row(record: dict[str, Any]) -> tuple[Any, ...]:
    message, error = record["message"], _error(record)
    return (
        local_time(record["received_at"]),
        record["request_id"],
        record["status"],
        error["code"] if error else None,
        message["intent"],
        short(_asked(message)),
    )


def _error(record: dict[str, Any]) -> dict[str, Any] | None:
    error: dict[str, Any] | None = (record["envelope"] or {}).get("error")
    return error


def _asked(message: dict[str, Any]) -> str:
    """Return what was asked for: the text, or the payload as JSON if there is none."""
    payload = message["payload"]
    if isinstance(payload.get("text"), str):
        return str(payload["text"])
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":")) if payload else ""


def _print_record(record: dict[str, Any]) -> None:
    message, plugin, error = record["message"], record["plugin"], _error(record)
    envelope = record["envelope"] or {}
    facts = {
        "request": record["request_id"],
        "session": record["session_id"],
        "status": record["status"],
        "source": f"{message['source']}, {record['principal']['kind']}:{record['principal']['id']}",
        "asked": _asked(message),
        "intent": f"{message['intent'] or '–'} ({record['decision']['outcome']})",
        "plugin": f"{plugin['name']} {plugin['version']} {plugin['hash']}" if plugin else None,
        "attempts": record["attempts"],
        "received": local_time(record["received_at"]),
        "finished": local_time(record["finished_at"]),
        "took": f"{envelope['elapsed_ms']:g} ms" if envelope else None,
        "warning": envelope.get("warning"),
        "error": f"{error['code']}: {error['message']}" if error else None,
    }
    print_facts(facts)
    if record["digest"] and not error:
        print_text("")
        print_markdown(record["digest"])


def _story(client: Client, record: dict[str, Any]) -> list[dict[str, Any]]:
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


def _print_story(story: list[dict[str, Any]]) -> None:
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
