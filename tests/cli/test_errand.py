"""A message is seen to its end where nobody can be asked: it is told what waits, and how it can be decided."""

from __future__ import annotations

import json

from tests.cli.asking import record, say_asking
from tests.cli.command import Hermes
from tests.cli.scripted import Scripted, stream

ZH = {"text": "打印机坏了"}
EN = {"text": "the printer is broken"}


def test_without_a_terminal_what_waits_is_told_and_nothing_decided(
    lonely: Hermes, scripted: Scripted
) -> None:
    say_asking(scripted, record(EN))
    done = lonely("send", "x", HERMES_URL=scripted.start())
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        "To be confirmed: ticket.create (plugin tickets)\n"
        '  {\n    "text": "the printer is broken"\n  }\n'
        "Valid until: 2026-11-30 15:00:00\n"
        "awaiting_confirmation: ticket.create waits for a confirmation: "
        "hermes messages confirm r-1, or --decline; send and retry take --yes to agree beforehand\n"
    )
    assert [asked.method for asked in scripted.asked] == ["POST", "GET"]


def test_with_json_the_record_is_printed_and_nobody_asked_even_on_a_terminal(
    lonely: Hermes, scripted: Scripted
) -> None:
    for _ in range(2):
        say_asking(scripted, record(ZH))
    url = scripted.start()
    done = lonely("send", "x", "--json", HERMES_URL=url)
    assert (done.code, json.loads(done.out)) == (1, record(ZH))
    assert done.err.startswith(
        "awaiting_confirmation: ticket.create 正在等待确认，用 hermes messages confirm r-1 "
    )
    assert "[y/N]" not in lonely.on_terminal("send", "x", "--json", "--url", url)


def test_who_stops_waiting_for_an_approved_call_is_told_that_it_goes_on(
    lonely: Hermes, scripted: Scripted
) -> None:
    queued = record(EN, confirmation={"approved": True})
    scripted.say_json(queued)
    scripted.say(stream())
    scripted.say_json(queued)
    done = lonely("messages", "confirm", "r-1", "--wait", "0", HERMES_URL=scripted.start())
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        "ticket.create was approved and waits for a free worker; "
        "not ended yet, it goes on: hermes messages show r-1\n"
    )
