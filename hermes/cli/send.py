"""`hermes send`: hand in a message, wait for its end and print the result."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import click

from hermes.cli.client import Client, Unreachable
from hermes.cli.delivery import Delivery
from hermes.cli.markdown import print_markdown
from hermes.cli.options import calls_daemon, identifier, json_object, json_option, seconds, sendable
from hermes.cli.progress import LiveProgress
from hermes.cli.terminal import print_json, print_text
from hermes.cli.text import one_line
from hermes.dispatch.sentences import locale_of
from hermes.messages import new_id

_AGREE = {"zh": "请用：hermes send --yes", "en": " Use: hermes send --yes"}


@click.command("send")
@click.argument("text", required=False, type=sendable)
@click.option("--follow", is_flag=True, help="Show the progress while it runs.")
@click.option(
    "--session", "session_id", type=identifier, metavar="ID", help="The conversation it belongs to."
)
@click.option("--yes", is_flag=True, help="Agree beforehand to a call that changes something.")
@click.option("--intent", type=sendable, metavar="NAME", help="What to run; the text is not routed then.")
@click.option("--payload", type=json_object, metavar="JSON", help="The parameters, as a JSON object.")
@click.option(
    "--wait", type=seconds, metavar="S", help="Wait at most S seconds for the end; the message goes on."
)
@json_option
@calls_daemon
def command(client: Client, *, follow: bool, wait: float | None, as_json: bool, **message: Any) -> None:
    """Send TEXT to the tool it is for, and print the result.

    The exit code is 0 only if the message succeeded.
    """
    body = _body(**message)
    deadline = None if wait is None else time.monotonic() + wait
    with LiveProgress() if follow else contextlib.nullcontext() as progress:
        delivery = Delivery(
            client, body, on_event=progress.tell if progress else lambda _: None, deadline=deadline
        )
        record = _run(delivery, body["request_id"])
    if as_json:
        print_json(record)
    else:
        _print_result(record)
    if record["status"] == "succeeded":
        return
    print_text(_failure(record), stderr=True)
    raise click.exceptions.Exit(1)


def _body(
    *,
    text: str | None,
    intent: str | None,
    payload: dict[str, Any] | None,
    session_id: str | None,
    yes: bool,
) -> dict[str, Any]:
    if not text and not intent:
        raise click.UsageError("give a TEXT, or an --intent")
    given = {"text": text, "intent": intent, "payload": payload, "session_id": session_id, "approve": yes}
    return {"request_id": new_id()} | {name: value for name, value in given.items() if value}


def _run(delivery: Delivery, request_id: str) -> dict[str, Any]:
    try:
        return delivery.run()
    except Unreachable as error:
        if not delivery.sent:
            raise
        raise click.ClickException(f"{error}; the message may go on: {_look(request_id)}") from error
    except KeyboardInterrupt:
        goes_on = "goes on" if delivery.sent else "goes on if it has arrived"
        raise click.ClickException(
            f"not waiting any more, the message {goes_on}: {_look(request_id)}"
        ) from None


def _print_result(record: dict[str, Any]) -> None:
    """Print the result or what can be chosen on stdout, and what the reader should be warned of on stderr."""
    envelope = record["envelope"] or {}
    for warning in (record["decision"]["warning"], envelope.get("warning")):
        if warning:
            print_text(f"warning: {one_line(warning)}", stderr=True)
    if record["status"] == "succeeded":
        print_markdown(record["digest"] or "")
    elif record["decision"]["outcome"] == "clarify" and record["status"] == "failed":
        for option in (envelope["data"] or {}).get("options", []):
            print_text(f"/{one_line(option['intent'])}  {one_line(option['label'])}")


def _failure(record: dict[str, Any]) -> str:
    """Return in one line why the message has not succeeded."""
    error = (record["envelope"] or {}).get("error")
    if error is not None:
        return one_line(f"{error['code']}: {error['message']}{_remedy(record, error)}")
    return f"{record['status']}: not ended yet, it goes on: {_look(record['request_id'])}"


def _remedy(record: dict[str, Any], error: dict[str, Any]) -> str:
    """Return what to do about an error on the command line, if that is more than its sentence says."""
    if error["code"] != "confirmation_required" or record["confirmation"]:
        return ""
    sentence = error["message"].replace(record["message"]["intent"], "")
    return _AGREE[locale_of(sentence, {}, preferred="auto")]


def _look(request_id: str) -> str:
    return f"hermes messages show {request_id}"
