"""The samples in a real daemon: asked in a sentence, each in its own runtime."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import StartDaemon
from tests.support.daemon import Daemon
from tests.support.gitlab import TOKEN, FakeGitLab, numbers
from tests.support.samples import SAMPLES

ORDER: dict[str, Any] = {"text": "触发 group/web 的流水线，分支 main", "approve": True}


@pytest.mark.parametrize("text", ["磁盘使用率", "disk usage of /"])
def test_disk_usage_is_a_shell_script_with_progress(daemon: Daemon, text: str) -> None:
    record = daemon.send(text=text)
    assert record["envelope"]["error"] is None
    assert "/" in [row["mount"] for row in record["envelope"]["data"]["filesystems"]]
    assert "| mount | size | used | available | percent |" in record["digest"]
    story = [frame.data for frame in daemon.story(record["request_id"])]
    told = [event["percent"] for event in story if event.get("percent") is not None]
    assert told
    assert told == sorted(told)


def test_http_check_leaves_the_machine_of_hermes_alone(daemon: Daemon) -> None:
    record = daemon.send(text=f"检查 {daemon.url}/readyz")
    assert record["decision"]["intent"] == "http.check"
    assert record["envelope"]["error"]["code"] == "upstream_denied"


def test_http_check_looks_where_it_is_configured_to(start_daemon: StartDaemon) -> None:
    daemon = start_daemon({"plugins": {"http-check": {"targets": ["127.0.0.1"]}}}, plugins=["http-check"])
    record = daemon.send(text=f"check {daemon.url}/healthz")
    assert (record["envelope"]["data"]["ok"], record["envelope"]["data"]["status"]) == (True, 200)


def test_gitlab_run_starts_one_pipeline_for_a_message_and_its_retries(
    start_daemon: StartDaemon, runs: FakeGitLab
) -> None:
    config = {"base_url": runs.url, "token": TOKEN, "settle_seconds": 0}
    daemon = start_daemon({"plugins": {"gitlab-run": config}}, plugins=["gitlab-run"])
    runs.start_day(then="drop")
    first = daemon.send(**ORDER)
    assert first["envelope"]["error"]["code"] == "upstream_unavailable"
    assert first["envelope"]["warning"] == "该操作可能已经生效。"
    again = daemon.send(retry_of=first["request_id"], approve=True)
    assert (again["envelope"]["error"], again["envelope"]["data"]["id"]) == (None, 101)
    assert numbers(runs) == [101]


class Whois(BaseHTTPRequestHandler):
    """Knows an answer for every path."""

    def do_GET(self) -> None:
        content = json.dumps({"ip": self.path, "city": "杭州"}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_args: object) -> None:
        """Stay silent."""


@pytest.fixture
def whois() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Whois) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_ip_info_is_a_manifest_alone_and_its_client_is_loaded_when_somebody_asks(
    start_daemon: StartDaemon, whois: str, tmp_path: Path
) -> None:
    folder = tmp_path / "plugins" / "ip-info"
    folder.mkdir(parents=True)
    text = (SAMPLES["ip-info"] / "manifest.json").read_text("utf-8")
    (folder / "manifest.json").write_text(text.replace("https://ipinfo.io", whois), encoding="utf-8")
    daemon = start_daemon()
    assert daemon.plugin("ip-info")["workers"] == []
    assert not has_loaded(daemon, "aiohttp")
    record = daemon.send(text="8.8.8.8 的归属地")
    assert record["envelope"]["data"] == {"ip": "/8.8.8.8/json", "city": "杭州"}
    assert record["digest"] == "**ip**: /8.8.8.8/json\n**city**: 杭州"
    assert has_loaded(daemon, "aiohttp")


def has_loaded(daemon: Daemon, package: str) -> bool:
    """Say whether compiled modules of a package are in the daemon's memory."""
    return f"/{package}/" in Path(f"/proc/{daemon.pid}/maps").read_text()
