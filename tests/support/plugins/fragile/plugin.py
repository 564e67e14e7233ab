"""Ends its own process in the middle of a call: always, only the first time a message comes, or never."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


async def handle(message: dict[str, Any], context: dict[str, Any]) -> Any:
    seen = Path(context["data_dir"]) / message["request_id"]
    intent = message["intent"]
    if intent in {"fragile.read", "fragile.write"} or (intent == "fragile.once" and not seen.exists()):
        seen.touch()
        os._exit(7)
    return "survived"
