"""The plugin host alone, in the process that measures: no HTTP, no journal, no router."""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from hermes.config import Document
from hermes.deadlines import Deadlines
from hermes.host.crew import Watch
from hermes.host.host import Host, HostSettings
from hermes.host.plugin import Places
from hermes.host.workers.calls import Call
from hermes.messages import HermesMessage
from hermes.observe.logs import open_logs
from hermes.observe.metrics import Metrics

_TIMEOUT = 60.0  # seconds
_FRAME_BYTES = 16 << 20


class Hosted:
    """A host that runs. `call` makes what it is handed for one message."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self._numbers = itertools.count(1)

    def call(self, intent: str, payload: Mapping[str, Any]) -> Call:
        """Return a call as the dispatcher makes them."""
        request_id = f"{next(self._numbers):032x}"
        message = HermesMessage(request_id, "s1", intent, dict(payload), "api", 0.0)
        context = {"session": {}, "idempotency_key": request_id, "locale": "zh"}
        return Call(request_id, message, context, _TIMEOUT, _on_started, _on_progress)

    async def run(self, intent: str, payload: Mapping[str, Any]) -> Any:
        """Run one call and return what came of it."""
        target = self.host.find(intent)
        if target is None:
            raise SystemExit(f"nobody serves {intent}: {self.host.describe()}")
        return await self.host.run(target, self.call(intent, payload))


@asynccontextmanager
async def hosted(home: Path) -> AsyncIterator[Hosted]:
    """Run a host on the plugins of a place, responsible for orphans as a daemon's is; its log goes to `home/log`."""
    places = Places(
        plugins_dir=home / "plugins",
        state_dir=home / "state",
        base_dir=home,
        configs={},
        environment=dict(os.environ),
        source=Document(),
    )
    with (home / "log").open("wb") as stream:
        logs = open_logs("info", stream)
        watch = Watch(logs.log, Metrics(), Deadlines())
        host = Host(HostSettings(_TIMEOUT, _TIMEOUT, _FRAME_BYTES), places, watch=watch)
        await host.open()
        host.load()
        host.start()
        try:
            yield Hosted(host)
        finally:
            await host.stop()
            logs.sink.flush()


async def _on_started() -> None:
    return


def _on_progress(_text: str, _percent: float | None) -> None:
    return
