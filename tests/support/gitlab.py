"""The fake GitLab that makes pipelines as a process of its own, and what a test says to it behind the plugin's back."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from hermes.sdk.testing import Call, OnceStore, Outcome, load, run
from tests.support.samples import SAMPLES

_FAKE = Path(__file__).parents[1] / "plugins" / "fakes" / "gitlab_runs.py"

TOKEN = "glpat-right"
"""The token that the fake takes; `glpat-narrow` lacks a scope."""
MAIN = {"project": "group/web", "ref": "main"}
"""A payload that a good GitLab takes."""


class FakeGitLab:
    """A running fake; `url` is what the plugin's `base_url` takes."""

    def __init__(self, url: str) -> None:
        self.url = url

    def start_day(self, **day: Any) -> None:
        """Forget all pipelines and behave as `Day` of the fake says from now on, without a word like a good GitLab."""
        self._ask("PUT", day)

    @property
    def pipelines(self) -> list[dict[str, Any]]:
        """The pipelines that have been made: each has `project`, `variables` and `told`, which is as the API has it."""
        pipelines: list[dict[str, Any]] = self._ask("GET")["pipelines"]
        return pipelines

    @property
    def seen(self) -> list[dict[str, str]]:
        """The requests of the plugin: each has `method`, `path` and `host`."""
        seen: list[dict[str, str]] = self._ask("GET")["seen"]
        return seen

    def _ask(self, method: str, body: Any = None) -> Any:
        content = None if body is None else json.dumps(body).encode()
        with urlopen(Request(self.url + "/fake", content, method=method), timeout=10) as response:
            return json.load(response)


@contextmanager
def fake_gitlab() -> Iterator[FakeGitLab]:
    """Run a fake GitLab as long as the context lasts."""
    with subprocess.Popen([sys.executable, str(_FAKE)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield FakeGitLab(process.stdout.readline().strip())
        finally:
            process.kill()


class Order:
    """One message and its retries: they share what `once` keeps and the plugin's data folder."""

    def __init__(self, gitlab: FakeGitLab, data_dir: Path, request_id: str = "r-1") -> None:
        self.gitlab = gitlab
        self.data_dir = data_dir
        self.request_id = request_id
        self.store = OnceStore()

    async def attempt(
        self,
        payload: dict[str, Any] = MAIN,
        *,
        within: float = 20,
        settle: float = 0,
        locale: str = "en",
        **config: Any,
    ) -> Outcome:
        handle = load(SAMPLES["gitlab-run"])
        config = {"base_url": self.gitlab.url, "token": TOKEN, "settle_seconds": settle} | config
        call = Call(request_id=self.request_id, once=self.store, timeout=within, data_dir=self.data_dir)
        return await run(handle, payload, config=config, locale=locale, call=call)

    @property
    def notes(self) -> list[Path]:
        return list(self.data_dir.iterdir())


def numbers(gitlab: FakeGitLab) -> list[int]:
    """Return the ids of the pipelines that have been made."""
    return [each["told"]["id"] for each in gitlab.pipelines]


def problem(outcome: Outcome) -> tuple[str, str]:
    """Return code and sentence of a call that has failed."""
    assert outcome.data is None
    assert outcome.error is not None
    return outcome.error["code"], outcome.error["message"]
