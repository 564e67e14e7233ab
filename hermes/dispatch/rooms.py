"""What a pipeline is built from: its settings, and the parts of the daemon that messages pass through. It builds nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hermes.bus import Bus
from hermes.deadlines import Deadlines
from hermes.dispatch.once import Once
from hermes.host.host import Host
from hermes.journal.base import Journal
from hermes.observe.logs import Logs
from hermes.observe.metrics import Metrics
from hermes.routing.router import Router


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """`pending` and `pending_bytes` bound the messages under way, `plugin_queue` those that wait for one plugin; `locale`
    is auto, zh or en.

    `hops` is how many messages may be below one from outside, each sent by the plugin of the one before;
    `payload_bytes` is how large their payloads may be.
    """

    pending: int
    pending_bytes: int
    result_bytes: int
    inline_bytes: int
    locale: Literal["auto", "zh", "en"]
    hops: int
    payload_bytes: int
    plugin_queue: int = 1000


@dataclass(frozen=True, slots=True)
class Rooms:
    """What the pipeline passes messages through."""

    journal: Journal
    router: Router
    host: Host
    bus: Bus
    logs: Logs
    deadlines: Deadlines
    metrics: Metrics
    once: Once
