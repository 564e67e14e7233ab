"""A journal in a file of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes.journal.sqlite import SqliteJournal
from tests.support.journals import journal_at


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


@pytest.fixture
async def journal(file: Path) -> AsyncIterator[SqliteJournal]:
    journal = journal_at(file)
    await journal.open()
    yield journal
    await journal.close()
