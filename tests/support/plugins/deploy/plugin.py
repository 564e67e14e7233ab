"""Says what it was asked to bring out."""

from __future__ import annotations

from typing import Any


async def handle(message: dict[str, Any], _context: dict[str, Any]) -> Any:
    return message["payload"]
