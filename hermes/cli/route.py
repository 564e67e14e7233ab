"""`hermes route`: ask where a text would go; nothing runs."""

from __future__ import annotations

from typing import Any

import click

from hermes.cli.client import Client
from hermes.cli.options import calls_daemon, json_option, sendable
from hermes.cli.terminal import print_facts, print_json, print_table, print_text


@click.command("route")
@click.argument("text", type=sendable)
@json_option
@calls_daemon
def command(client: Client, *, text: str, as_json: bool) -> None:
    """Say which intent TEXT would go to, and why. Nothing runs."""
    decision = client.post("/v1/route", {"text": text})
    if as_json:
        print_json(decision)
    else:
        print_decision(decision)


def print_decision(decision: dict[str, Any]) -> None:
    """Print a decision and its reason, and every candidate with the keywords that spoke for it or against it."""
    print_facts(
        {
            "outcome": decision["outcome"],
            "intent": decision["intent"] or None,
            "confidence": f"{decision['confidence']:.3f}",
            "reason": decision["reason"],
            "warning": decision["warning"],
        }
    )
    if not decision["candidates"]:
        return
    print_text("")
    header = ("INTENT", "PLUGIN", "SCORE", "MATCHED")
    print_table(header, [_row(one) for one in decision["candidates"]], least=("MATCHED", "PLUGIN"))


def _row(candidate: dict[str, Any]) -> tuple[str, ...]:
    matched = ", ".join(f"{one['keyword']} {one['weight']:g}" for one in candidate["matched"])
    return candidate["intent"], candidate["plugin"], f"{candidate['score']:.3f}", matched
