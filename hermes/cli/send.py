"""`hermes send`: hand in a message, wait for its end and print the result."""

from __future__ import annotations

from typing import Any

import click

from hermes.cli.client import Client
from hermes.cli.errand import see_to_end
from hermes.cli.options import calls_daemon, identifier, json_object, sendable, waits
from hermes.messages import new_id


@click.command("send")
@click.argument("text", required=False, type=sendable)
@click.option(
    "--session", "session_id", type=identifier, metavar="ID", help="The conversation it belongs to."
)
@click.option("--yes", is_flag=True, help="Agree beforehand to a call that changes something.")
@click.option("--intent", type=sendable, metavar="NAME", help="What to run; the text is not routed then.")
@click.option("--payload", type=json_object, metavar="JSON", help="The parameters, as a JSON object.")
@waits
@calls_daemon
def command(client: Client, *, follow: bool, wait: float | None, as_json: bool, **message: Any) -> None:
    """Send TEXT to the tool it is for, and print the result.

    A call that needs a confirmation is asked about on a terminal; elsewhere it is left waiting for one.

    The exit code is 0 only if the message succeeded.
    """
    if not see_to_end(client, _body(**message), follow=follow, wait=wait, as_json=as_json):
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
