"""Messages and what belongs to them, whole, for tests that care about one member of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hermes.messages import Decision, HermesMessage, Principal, Record

PLAIN = HermesMessage(
    request_id="r1",
    session_id="s1",
    intent="deploy",
    payload={"text": "部署 web 🚀"},
    source="api",
    timestamp=1e9,
)


def a_message(**members: Any) -> HermesMessage:
    return replace(PLAIN, **members)


def a_record(**members: Any) -> Record:
    """Return a record of a message that was just accepted; `message` is one of the members."""
    message = members.pop("message", PLAIN)
    decision = Decision("given", message.intent, 1.0)
    return Record(
        **({"message": message, "principal": Principal(), "decision": decision, "received_at": 1e9} | members)
    )
