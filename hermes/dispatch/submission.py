"""What a sender hands in, already checked for shape: the input of the pipeline, the same for every entrance."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from hermes.dispatch.lineage import Sent
from hermes.messages import Source
from hermes.values import value


@value
class Submission:
    """A message before it is one. `text`, `intent` or `retry_of` is given; `payload` has no `text` that differs from `text`.

    `fingerprint` tells two bodies apart and is given if and only if `request_id` is. `approve` is the sender's own
    confirmation of a call that needs one. With `retry_of` text, intent and payload are those of that message, and
    none is given here. `received_at` is Unix seconds. `sent` is there if a plugin sends it.
    """

    text: str | None
    intent: str | None
    payload: dict[str, Any]
    received_at: float
    session_id: str | None = None
    request_id: str | None = None
    fingerprint: bytes | None = None
    source: Source = "api"
    metadata: dict[str, Any] = field(default_factory=dict)
    approve: bool = False
    retry_of: str | None = None
    sent: Sent | None = None

    @property
    def again(self) -> bool:
        """Say whether it belongs to a chain of retries that began with another message."""
        if self.sent is not None:
            return self.sent.first_id != self.request_id
        return self.retry_of is not None
