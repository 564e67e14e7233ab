"""The fake Jira of tests/plugins/fakes as a process of its own, and what a test says to it behind the plugin's back."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from tests.support.samples import SAMPLES

_FAKE = Path(__file__).parents[1] / "plugins" / "fakes" / "jira.py"

TOKEN = "jira-right"
"""The token that the fake takes, alone or with USER."""
USER = "ops@example.com"


class FakeJira:
    """A running fake; `url` is what the plugin's `base_url` takes."""

    def __init__(self, url: str) -> None:
        self.url = url

    def start_day(self, **day: Any) -> None:
        """Forget all issues and behave as `Day` of the fake says from now on, without a word like a good Jira."""
        self._ask("PUT", day)

    @property
    def issues(self) -> list[dict[str, Any]]:
        """The issues that have been created: each has `key` and `fields`."""
        issues: list[dict[str, Any]] = self._ask("GET")["issues"]
        return issues

    @property
    def seen(self) -> list[dict[str, str]]:
        """The requests of the plugin: each has `method`, `path`, `host` and `auth`, the kind of its token."""
        seen: list[dict[str, str]] = self._ask("GET")["seen"]
        return seen

    def _ask(self, method: str, body: Any = None) -> Any:
        content = None if body is None else json.dumps(body).encode()
        with urlopen(Request(self.url + "/fake", content, method=method), timeout=10) as response:
            return json.load(response)


@contextmanager
def fake_jira() -> Iterator[FakeJira]:
    """Run a fake Jira as long as the context lasts."""
    with subprocess.Popen([sys.executable, str(_FAKE)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield FakeJira(process.stdout.readline().strip())
        finally:
            process.kill()


def add_hasty_plugin(plugins: Path, *, timeout: float) -> None:
    """Copy ticket-create into a folder of plugins, with `timeout` seconds for a call instead of its own."""
    folder = plugins / "ticket-create"
    shutil.copytree(SAMPLES["ticket-create"], folder)
    file = folder / "manifest.json"
    manifest = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps(manifest | {"timeout": timeout}, ensure_ascii=False), encoding="utf-8")
