"""What runs inside a plugin's own process. Standard library only; imports nothing else of Hermes."""

from hermes.sdk.once import NotDone, OnceUnavailable, OutcomeUnknown, StillRunning
from hermes.sdk.send import SendRefused

__all__ = ["NotDone", "OnceUnavailable", "OutcomeUnknown", "SendRefused", "StillRunning"]
