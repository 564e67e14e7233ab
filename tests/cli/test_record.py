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
        (failed(CALL, "confirmation_expired", "Nobody confirmed it."), "asked by local:local, never decided"),
    ],
)
def test_who_asked_and_who_decided_is_shown(
    lonely: Hermes, scripted: Scripted, shown: dict[str, Any], line: str
) -> None:
    scripted.say_json(shown | {"retry_of": "r-0"})
    lines = lonely("messages", "show", "r-1", HERMES_URL=scripted.start()).lines
    assert f"confirm   {line}" in lines
    assert "retry of  r-0" in lines
    waits = lines[-1].startswith("ticket.create waits for a confirmation: hermes messages confirm r-1")
    assert waits == (shown["status"] == "awaiting_confirmation")
