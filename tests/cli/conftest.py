"""The command line against the shared daemon, and against servers that answer as a script says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command import Hermes
from tests.cli.scripted import Scripted
from tests.support.daemon import Daemon


@pytest.fixture
def hermes(tmp_path: Path, daemon: Daemon) -> Hermes:
    """The command, calling the daemon that all tests share."""
    return Hermes(tmp_path, HERMES_URL=daemon.url)


@pytest.fixture
def lonely(tmp_path: Path) -> Hermes:
    """The command without a daemon, in an empty folder."""
    return Hermes(tmp_path)


@pytest.fixture
def scripted() -> Iterator[Scripted]:
    """A server that answers one connection after the other with what a test has written down."""
    with Scripted() as server:
        yield server
