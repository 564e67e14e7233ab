"""What starting a worker takes beside the plugin itself: who listens to it, how much it may say, who keeps its processes."""

from __future__ import annotations

from dataclasses import dataclass

from hermes.host.custody.custody import Custody
from hermes.host.workers.spares import Spares
from hermes.host.workers.worker import Listener


@dataclass(frozen=True, slots=True)
class Workshop:
    """The tools of one version of a plugin. `frame_bytes` bounds what one answer may have.

    Every process that is started is taken into `custody`, if there is one, as part of its `Launch`; a Python worker
    may be taken from `spares`.
    """

    listener: Listener
    frame_bytes: int
    custody: Custody | None = None
    spares: Spares | None = None


@dataclass(frozen=True, slots=True)
class Tools:
    """What all plugins' workers are started with."""

    frame_bytes: int
    custody: Custody
    spares: Spares

    def workshop(self, listener: Listener) -> Workshop:
        """Return the tools with who listens to the workers that are made."""
        return Workshop(listener, self.frame_bytes, self.custody, self.spares)
