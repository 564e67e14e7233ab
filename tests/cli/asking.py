"""What a daemon says about a call that waits for its confirmation, for servers that answer as a script says."""

from __future__ import annotations

from typing import Any

from tests.cli.scripted import Scripted, frame, stream

LATER = 1796050800.0  # 2026-11-30 15:00:00 UTC
ME = {"kind": "local", "id": "local", "person": None}


def confirmation(payload: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {
        "intent": "ticket.create",
        "plugin": "tickets",
        "payload": payload,
        "expires_at": LATER,
        "by": [],
        "other_than_asker": False,
        "approved": None,
        "decided_by": None,
        "decided_at": None,
    } | members


def record(payload: dict[str, Any], status: str = "awaiting_confirmation", **members: Any) -> dict[str, Any]:
    """Return the record of a call; members of its confirmation come in as `confirmation`."""
    return (
        {
            "request_id": "r-1",
            "session_id": "s-1",
            "status": status,
            "message": {"intent": "ticket.create", "payload": payload, "source": "api"},
            "principal": ME,
            "decision": {"outcome": "given", "warning": None},
            "plugin": None,
            "envelope": None,
            "digest": None,
            "attempts": 0,
            "resumes": None,
            "retry_of": None,
            "received_at": LATER - 600,
            "finished_at": None,
        }
        | members
        | {"confirmation": confirmation(payload, **members.get("confirmation", {}))}
    )


def succeeded(payload: dict[str, Any]) -> dict[str, Any]:
    envelope = {"data": {"key": "OPS-7"}, "error": None, "elapsed_ms": 1.0, "warning": None}
    return record(payload, "succeeded", envelope=envelope, digest="**OPS-7**")


def failed(payload: dict[str, Any], code: str, message: str) -> dict[str, Any]:
    error = {"code": code, "message": message, "retryable": False}
    envelope = {"data": None, "error": error, "elapsed_ms": 0.0, "warning": None}
    return record(payload, "failed", envelope=envelope)


def say_asking(scripted: Scripted, asked: dict[str, Any]) -> None:
    """Accept a message, ask, and show the record."""
    question = {"type": "PROGRESS", "stage": "awaiting_confirmation", "text": "?"}
    scripted.say(stream(frame({"type": "TASK_RECEIVED", "request_id": "r-1"}, 1), frame(question, 2)))
    scripted.say_json(asked)


def say_end(scripted: Scripted, ended: dict[str, Any]) -> None:
    """Tell the rest of the story, and show the record."""
    kind = "TOOL_SUCCEEDED" if ended["status"] == "succeeded" else "TOOL_FAILED"
    scripted.say(stream(frame({"type": kind}, 3)))
    scripted.say_json(ended)


def say_problem(scripted: Scripted, code: str, detail: str, status: str) -> None:
    """Refuse."""
    scripted.say_json({"code": code, "detail": detail}, status, "application/problem+json")
