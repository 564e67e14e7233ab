"""Plugins of runtime `http`: a manifest and nothing else."""

from __future__ import annotations

from typing import Any

from hermes.host.workers.worker import Worker
from tests.support.shop import Shop


async def plugin(shop: Shop, http: dict[str, Any], **manifest: Any) -> Worker:
    shop.write({}, runtime="http", http=http, **manifest)
    return await shop.open()


async def ask(
    shop: Shop, url: str, payload: dict[str, Any] | None = None, *, locale: str = "en", **http: Any
) -> Any:
    return await shop.ask(await plugin(shop, {"url": url, **http}), payload, locale=locale)
