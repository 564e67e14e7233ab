"""Sees a message to its end on the command line: hands it in, asks what has to be asked, prints what came of it.

It is what `send`, `messages confirm` and `messages retry` have in common.
"""

from __future__ import annotations

import contextlib
import shlex
import time
from collections.abc import Mapping
from typing import Any

import click

from hermes.cli.client import Client, Unreachable
from hermes.cli.delivery import Delivery, is_undecided
from hermes.cli.markdown import print_markdown
from hermes.cli.progress import LiveProgress
from hermes.cli.question import Question, description, on_terminal, waiting
from hermes.cli.record import asked_back
from hermes.cli.terminal import print_json, print_text
from hermes.cli.text import one_line


def see_to_end(
    client: Client,
    body: Mapping[str, Any],
    *,
    follow: bool,
    wait: float | None,
    as_json: bool,
    accepted: bool = False,
) -> bool:
    """Wait for the end of a message, print it, and return whether it succeeded.

    `body` and `accepted` are those of a Delivery; `wait` is in seconds, None for ever. With `as_json` nobody is asked
    anything.

    Raises:
        Unreachable, Declined, NotHermes: the message was not taken.
        click.ClickException: it may go on, but it is not waited for any longer.
    """
    deadline = None if wait is None else time.monotonic() + wait
    with LiveProgress() if follow else contextlib.nullcontext() as progress:
        question = Question(
            client, deadline=deadline, hidden=progress.hidden if progress else contextlib.nullcontext
        )
        delivery = Delivery(
            client,
            body,
            on_event=progress.tell if progress else lambda _: None,
            on_question=(lambda _: False) if as_json else question,
            deadline=deadline,
            accepted=accepted,
        )
        record = _run(delivery, body["request_id"])
    if as_json:
        print_json(record)
    else:
        _print_result(record)
    if record["status"] == "succeeded":
        return True
    print_text(_failure(record), stderr=True)
    return False


def _run(delivery: Delivery, request_id: str) -> dict[str, Any]:
    try:
        return delivery.run()
    except Unreachable as error:
        if not delivery.sent:
            raise
        raise click.ClickException(f"{error}; the message may go on: {look(request_id)}") from error
    except KeyboardInterrupt:
        goes_on = "goes on" if delivery.sent else "goes on if it has arrived"
        raise click.ClickException(
            f"not waiting any more, the message {goes_on}: {look(request_id)}"
        ) from None


def _print_result(record: dict[str, Any]) -> None:
    """Print the result or what can be chosen on stdout, and what the reader should be warned of on stderr."""
    envelope = record["envelope"] or {}
    decided = None if asked_back(record) else record["decision"]["warning"]  # a question says it itself
    for warning in (decided, envelope.get("warning")):
        if warning:
            print_text(f"warning: {one_line(warning)}", stderr=True)
    if record["status"] == "succeeded":
        print_markdown(record["digest"] or "")
    elif asked_back(record):
        for option in envelope["data"]["options"]:
            print_text(f"{option['n']}. {one_line(option['intent'])}  {one_line(option['label'])}")
    elif is_undecided(record) and not on_terminal():
        print_text(description(record), stderr=True)


def _failure(record: dict[str, Any]) -> str:
    """Return in one line why the message has not succeeded; below a question, how it is answered."""
    error = (record["envelope"] or {}).get("error")
    if error is not None and asked_back(record):
        question = one_line(f"{error['code']}: {record['envelope']['data']['question']}")
        return f"{question}\nanswer: {_answer(record)}"
    if error is not None:
        return one_line(f"{error['code']}: {error['message']}")
    if is_undecided(record):
        return f"{record['status']}: {waiting(record)}"
    goes_on = f"not ended yet, it goes on: {look(record['request_id'])}"
    if record["status"] == "awaiting_confirmation":
        return f"{waiting(record)}; {goes_on}"
    return f"{record['status']}: {goes_on}"


def _answer(record: dict[str, Any]) -> str:
    """Return the command that answers a question."""
    missing = record["envelope"]["data"]["missing"]
    text = shlex.quote(" ".join(f"{one_line(name)}=…" for name in missing)) if missing else "1"
    return f"hermes send --session {record['session_id']} {text}"


def look(request_id: str) -> str:
    """Return the command that shows a message."""
    return f"hermes messages show {request_id}"
