"""What tests of any room may ask for: a real daemon that all share, or daemons of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

import pytest
from hypothesis import settings

from tests.support.daemon import Config, Daemon, furnish, plugin_folder, start
from tests.support.jira import FakeJira, fake_jira
from tests.support.samples import PLUGINS

# How long an example takes says nothing on a machine that does other work too.
settings.register_profile("hermes", deadline=None)
settings.load_profile("hermes")


class StartDaemon(Protocol):
    """Starts a daemon of its own for one test, which ends with it."""

    def __call__(
        self,
        config: Config | None = None,
        *,
        plugins: Iterable[str] = (),
        environ: Mapping[str, str] | None = None,
    ) -> Daemon:
        """Take sections of hermes.yaml and names of plugins; what lies in tmp_path/plugins is there too."""


@pytest.fixture(scope="session")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """The daemon that tests share, with the sample plugins and those of tests/support: leave it as you found it."""
    # What fails on purpose in one test must not open the circuit breaker of another.
    config = {"circuit_breaker": {"failure_threshold": 1000}}
    running = start(furnish(tmp_path_factory.mktemp("daemon"), config, PLUGINS.values()))
    yield running
    running.stop()


@pytest.fixture
def start_daemon(tmp_path: Path) -> Iterator[StartDaemon]:
    """Start daemons for this test alone; each on the same folder, so one at a time."""
    started: list[Daemon] = []

    def start_one(
        config: Config | None = None, *, plugins: Iterable[str] = (), environ: Mapping[str, str] | None = None
    ) -> Daemon:
        if not (tmp_path / "hermes.yaml").exists():
            furnish(tmp_path, config, [plugin_folder(name) for name in plugins])
        started.append(start(tmp_path, environ))
        return started[-1]

    yield start_one
    for running in started:
        if running.process.poll() is None:
            running.stop()


@pytest.fixture(scope="module")
def one_jira() -> Iterator[FakeJira]:
    """The fake Jira that the tests of a module share."""
    with fake_jira() as jira:
        yield jira


@pytest.fixture
def jira(one_jira: FakeJira) -> FakeJira:
    """A fake Jira on a good day, without tickets."""
    one_jira.start_day()
    return one_jira
