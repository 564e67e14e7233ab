"""How one record is shown: who asked for a call and who decided about it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.asking import LATER, failed, record
from tests.cli.command import Hermes
from tests.cli.scripted import Scripted

CALL = {"text": "the printer is broken"}
KEY = {"kind": "key", "id": "ops", "person": "slack:U1"}


@pytest.mark.parametrize(
    ("shown", "line"),
    [
        (record(CALL), "asked by local:local, waits until 2026-11-30 15:00:00 for who asked, or an admin"),
        (
            record(CALL, confirmation={"by": ["slack:U1", "admin"], "other_than_asker": True}),
            "asked by local:local, waits until 2026-11-30 15:00:00 for slack:U1, admin, but not who asked",
        ),
        (
            record(CALL, "running", confirmation={"approved": True, "decided_by": KEY, "decided_at": LATER}),
            "asked by local:local, approved by key:ops (slack:U1) at 2026-11-30 15:00:00",
        ),
        (
            record(
                CALL,
                "failed",
                principal=KEY,
                confirmation={"approved": False, "decided_by": KEY, "decided_at": LATER},
            ),
            "asked by key:ops (slack:U1), declined by key:ops (slack:U1) at 2026-11-30 15:00:00",
        ),
        (
            record(CALL, confirmation={"approved": True, "decided_by": KEY, "decided_at": LATER}),
            "asked by local:local, approved by key:ops (slack:U1) at 2026-11-30 15:00:00",
        ),
        (failed(CALL, "confirmation_expired", "Nobody confirmed it."), "asked by local:local, never decided"),
    ],
)
def test_who_asked_and_who_decided_is_shown(
    lonely: Hermes, scripted: Scripted, shown: dict[str, Any], line: str
) -> None:
    scripted.say_json(shown | {"retry_of": "r-0", "resumes": "r-q"})
    lines = lonely("messages", "show", "r-1", HERMES_URL=scripted.start()).lines
    assert f"confirm   {line}" in lines
    assert "retry of  r-0" in lines
    assert "resumes   r-q" in lines
    waits = lines[-1].startswith("ticket.create waits for a confirmation: hermes messages confirm r-1")
    confirmation = shown["confirmation"]
    assert waits == (shown["status"] == "awaiting_confirmation" and confirmation["approved"] is None)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("the printer is broken", "ticket.create was approved and waits for a free worker"),
        ("打印机坏了", "已同意 ticket.create，正在等待空闲的工作进程"),
    ],
)
def test_an_approved_call_without_a_worker_is_shown_as_such_and_not_to_be_confirmed_again(
    lonely: Hermes, scripted: Scripted, text: str, sentence: str
) -> None:
    shown = record({"text": text}, confirmation={"approved": True, "decided_by": KEY, "decided_at": LATER})
    scripted.say_json(shown)
    done = lonely("messages", "show", "r-1", HERMES_URL=scripted.start())
    assert done.lines[-1] == sentence
    assert "messages confirm" not in done.out
