"""What travels through Hermes: message, decision, envelope, event and record, as the contract shapes them.

Plain values without behaviour beyond turning into JSON-ready dictionaries. Who may see what, and how bytes are
written, is decided by the rooms above.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from random import getrandbits
from typing import Any, Literal

from hermes.values import value

Source = Literal["im", "api", "cron", "webhook", "agent"]
Status = Literal["accepted", "awaiting_confirmation", "running", "succeeded", "failed"]
Outcome = Literal["dispatch", "clarify", "no_match", "given", "resumed"]
EventType = Literal["TASK_RECEIVED", "TOOL_STARTED", "PROGRESS", "TOOL_SUCCEEDED", "TOOL_FAILED"]

ID_PATTERN = r"^[A-Za-z0-9._:~-]{1,128}$"
ERROR_CODE_PATTERN = r"^[a-z][a-z0-9_]{1,40}$"
TERMINAL: frozenset[str] = frozenset({"TOOL_SUCCEEDED", "TOOL_FAILED"})
_is_id = re.compile(r"[A-Za-z0-9._:~-]{1,128}").fullmatch


def new_id() -> str:
    """Return a fresh id that sorts by the millisecond it was made in and holds 80 random bits."""
    return f"{time.time_ns() // 1_000_000:012x}-{getrandbits(80):020x}"


def is_id(value: str) -> bool:
    """Say whether `value` follows the grammar of request and session ids."""
    return _is_id(value) is not None


@dataclass(frozen=True, slots=True)
class HermesMessage:
    """One request, the same for every entrance and every plugin; `timestamp` is Unix seconds of its arrival."""

    request_id: str
    session_id: str
    intent: str
    payload: dict[str, Any]
    source: Source
    timestamp: float


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """The error of an envelope: a stable code, one readable sentence, and whether trying again can help."""

    code: str
    message: str
    retryable: bool = False


@dataclass(frozen=True, slots=True)
class ResultEnvelope:
    """What a call of a plugin came to. It succeeded if and only if `error` is None; `elapsed_ms` counts the
    plugin's own time, from TOOL_STARTED.
    """

    data: Any = None
    error: ErrorInfo | None = None
    elapsed_ms: float = 0.0
    warning: str | None = None


@dataclass(frozen=True, slots=True)
class Principal:
    """Who sent a message; `person` is the human behind a webhook, as `<kind>:<user id>`."""

    kind: Literal["local", "key", "jwt", "webhook", "cron", "agent"] = "local"
    id: str = "local"
    person: str | None = None

    @property
    def owner(self) -> str:
        """The name that records are kept under: only the same kind and id sees them."""
        return f"{self.kind}:{self.id}"


@value
class Match:
    """A keyword that was found in the text, as its manifest writes it, with its weight."""

    keyword: str
    weight: float


@value
class Candidate:
    """An intent that the text may be meant for; `score` is 0…1."""

    intent: str
    plugin: str
    score: float
    matched: tuple[Match, ...] = ()


@value
class Decision:
    """Where a message goes and why. `candidates` are in falling order of score; `intent` is "" unless one was
    chosen.
    """

    outcome: Outcome
    intent: str = ""
    confidence: float = 0.0
    candidates: tuple[Candidate, ...] = ()
    warning: str | None = None


@value
class PluginRef:
    """The plugin version that ran a message; `hash` is of its files."""

    name: str
    version: str
    hash: str


@value
class Confirmation:
    """What a call that needs a person's consent would run, who may give it, and what came of it.

    `by` are persons or scopes; if it is empty the asker or an admin decides, or with `other_than_asker` anyone else
    who may send messages. `approved` is None as long as nobody has decided. Times are Unix seconds; `expires_at` is
    None for what was approved when it was sent.
    """

    intent: str
    plugin: str
    payload: dict[str, Any]
    expires_at: float | None
    by: tuple[str, ...] = ()
    other_than_asker: bool = False
    approved: bool | None = None
    decided_by: Principal | None = None
    decided_at: float | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One step in the story of a message. `seq` counts from 1 without gaps within the message; `timestamp` is
    Unix seconds; `fields` are the members that only this type has (text, percent, attempt, envelope …).
    """

    type: EventType
    request_id: str
    session_id: str
    seq: int
    timestamp: float
    fields: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the members of the `data:` line of the event stream."""
        return {
            "type": self.type,
            "request_id": self.request_id,
            "session_id": self.session_id,
            "seq": self.seq,
            "timestamp": self.timestamp,
            **self.fields,
        }


@dataclass(slots=True)
class Record:
    """What Hermes keeps about one message. It changes while the message is under way and never after it ended.

    `status` is `succeeded` if and only if `envelope.error` is None. Times are Unix seconds.
    """

    message: HermesMessage
    principal: Principal
    decision: Decision
    status: Status = "accepted"
    plugin: PluginRef | None = None
    envelope: ResultEnvelope | None = None
    digest: str | None = None
    attempts: int = 0
    parent: str | None = None
    resumes: str | None = None
    retry_of: str | None = None
    confirmation: Confirmation | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    received_at: float = 0.0
    finished_at: float | None = None

    @property
    def links(self) -> dict[str, str]:
        """Where the record, its events and its whole result are."""
        path = f"/v1/messages/{self.message.request_id}"
        return {"self": path, "events": path + "/events", "raw": path + "/raw"}

    def fixed(self) -> dict[str, Any]:
        """Return the members that never change; the dataclasses inside are left to the JSON encoder."""
        message = self.message
        return {
            "request_id": message.request_id,
            "session_id": message.session_id,
            "message": message,
            "principal": self.principal,
            "decision": self.decision,
            "parent": self.parent,
            "resumes": self.resumes,
            "retry_of": self.retry_of,
            "metadata": self.metadata,
            "received_at": self.received_at,
            "links": self.links,
        }

    def changing(self) -> dict[str, Any]:
        """Return the members that change while the message is under way."""
        return {
            "status": self.status,
            "plugin": self.plugin,
            "envelope": self.envelope,
            "digest": self.digest,
            "attempts": self.attempts,
            "confirmation": self.confirmation,
            "finished_at": self.finished_at,
        }
