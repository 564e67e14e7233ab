"""What several files of tests ask for: a fake GitLab that makes pipelines and an order to it, and a site to check."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.support.gitlab import FakeGitLab, Order, fake_gitlab
from tests.support.site import Site, serving


@pytest.fixture(scope="module")
def one_gitlab_of_runs() -> Iterator[FakeGitLab]:
    """The fake that the tests of a module share."""
    with fake_gitlab() as gitlab:
        yield gitlab


@pytest.fixture
def runs(one_gitlab_of_runs: FakeGitLab) -> FakeGitLab:
    """A fake GitLab on a good day, without pipelines."""
    one_gitlab_of_runs.start_day()
    return one_gitlab_of_runs


@pytest.fixture
def order(runs: FakeGitLab, tmp_path: Path) -> Order:
    """A message for that GitLab, to be tried as often as a test likes."""
    return Order(runs, tmp_path)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    """A site without TLS that has one good page."""
    async with serving() as running:
        running.pages["/"] = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nbody"
        yield running
