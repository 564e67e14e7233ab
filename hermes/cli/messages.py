"""`hermes messages`: what was asked and what came of it, what waits for a yes, and what is to run again."""

from __future__ import annotations

from typing import Any

import click

from hermes.cli.client import Client, Declined, Unreachable
from hermes.cli.errand import look, see_to_end
from hermes.cli.options import calls_daemon, identifier, json_option, sendable, waits
from hermes.cli.question import decided
from hermes.cli.record import asked, error_of, print_record, print_story, story_of
from hermes.cli.terminal import local_time, print_json, print_table, print_text, short
from hermes.cli.text import one_line
from hermes.messages import new_id

_PAGE = 50  # records a request
_STATUSES = ("accepted", "awaiting_confirmation", "running", "succeeded", "failed")


def _status(value: str) -> str:
    """Return a status. Who gives another word may well mean the code that the list shows beside it."""
    if value not in _STATUSES:
        known = ", ".join(_STATUSES)
        raise click.BadParameter(f"{value!r} is not one of {known}; the code of an error goes to --code")
    return value


@click.group("messages")
def command() -> None:
    """Look at messages that were sent, confirm them and run them again."""


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
    """List messages, newest first. After ↳ stands the text of an earlier message that this one resumes by an answer."""
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
    story = story_of(client, record) if events else None
    if as_json:
        print_json(record if story is None else record | {"events": story})
        return
    print_record(record)
    if story is not None:
        print_story(story)


@command.command("confirm")
@click.argument("request_id", metavar="ID", type=identifier)
@click.option("--decline", is_flag=True, help="Refuse it: it will not run.")
@click.option("--no-wait", is_flag=True, help="Do not wait for the end of what was approved.")
@waits
@calls_daemon
def confirm_message(
    client: Client, *, request_id: str, decline: bool, no_wait: bool, as_json: bool, **waiting: Any
) -> None:
    """Let a call run that waits for its confirmation, and print the result.

    The exit code is 0 only if it succeeded; with --decline or --no-wait, if the decision was taken.
    """
    record = _decide(client, request_id, approve=not decline)
    if not decline and not no_wait:
        try:
            succeeded = see_to_end(
                client, {"request_id": request_id}, accepted=True, as_json=as_json, **waiting
            )
        except Declined as error:
            if error.code != "not_found":  # who may confirm a call of another need not be shown its end
                raise
        else:
            _exit(succeeded=succeeded)
            return
    if as_json:
        print_json(record)
    else:
        print_text(decided(record))


@command.command("retry")
@click.argument("request_ids", metavar="ID...", type=identifier, nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Agree beforehand to a call that changes something.")
@waits
@calls_daemon
def retry_messages(client: Client, *, request_ids: tuple[str, ...], yes: bool, **waiting: Any) -> None:
    """Run failed messages again, one after another, and print the result of each.

    The new message has an id of its own and the idempotency key of the first, so that a tool that uses it does nothing
    twice. The exit code is 0 only if all succeeded.
    """
    succeeded = True
    for request_id in request_ids:
        body = {"request_id": new_id(), "retry_of": request_id} | ({"approve": True} if yes else {})
        if len(request_ids) > 1:
            print_text(f"{request_id} again, as {body['request_id']}:", stderr=True)
        try:
            succeeded &= see_to_end(client, body, **waiting)
        except Declined as error:
            print_text(f"Error: {one_line(str(error))}", stderr=True)
            succeeded = False
    _exit(succeeded=succeeded)


def _decide(client: Client, request_id: str, *, approve: bool) -> dict[str, Any]:
    try:
        return client.post(f"/v1/messages/{request_id}/confirm", {"approve": approve})
    except Unreachable as error:
        if not error.sent:
            raise
        raise click.ClickException(f"{error}; it may be decided: {look(request_id)}") from error


def _exit(*, succeeded: bool) -> None:
    if not succeeded:
        raise click.exceptions.Exit(1)


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
    message, error = record["message"], error_of(record)
    return (
        local_time(record["received_at"]),
        record["request_id"],
        record["status"],
        error["code"] if error else None,
        message["intent"],
        short(("↳ " if record["resumes"] else "") + asked(message)),
    )
