"""A shop for workers of one plugin; it sees that nothing of them is left."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.shop import Shop
from tests.support.web import Web, serving


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    """A shop of one test; its workers are ended with it."""
    shop = Shop(tmp_path)
    yield shop
    await shop.close()


@pytest.fixture
async def server() -> AsyncIterator[Web]:
    """A server of HTTP for one test."""
    async with serving() as server:
        yield server
