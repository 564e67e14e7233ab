"""Plugins that are shell scripts, for tests of runtime `executable`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hermes.host.workers.worker import Worker
from tests.support.shop import Shop


async def script(shop: Shop, text: str, **manifest: Any) -> Worker:
    """Open a worker whose program is a shell script."""
    command = manifest.pop("command", ["./run.sh"])
    shop.write({"run.sh": "#!/bin/sh\n" + text}, runtime="executable", command=command, **manifest)
    return await shop.open()


async def result(shop: Shop, text: str) -> Any:
    return await shop.ask(await script(shop, text))


def data(shop: Shop, name: str) -> Path:
    """Return a file in the folder that the program may write to."""
    return shop.home / "state" / "plugins" / "p" / name
