"""A GitLab that a test can start: the few calls of its REST API that plugins make, in its documented shapes, and as
strict as the real one. Run it; the first line it prints is its address. `/seen` tells what it was asked.

Projects whose group is `broken` or `moved` show its bad days.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

TOKEN = "glpat-right"
TOKEN_WITHOUT_SCOPE = "glpat-narrow"
JOB_SCOPES = {"created", "pending", "running", "failed", "success", "canceled", "skipped", "manual"}

Answer = tuple[int, Any]
NOT_FOUND: Answer = (404, {"error": "404 Not Found"})


def pipeline(number: int, ref: str, status: str, duration: int | None) -> dict[str, Any]:
    return {
        "id": number,
        "iid": number - 100,
        "project_id": 21,
        "sha": "50f0acb76a40e34a4ff304f7347dcc6587da8a14",
        "ref": ref,
        "status": status,
        "source": "push",
        "created_at": "2024-09-21T01:05:07.200Z",
        "updated_at": "2024-09-21T01:05:50.185Z",
        "web_url": f"http://gitlab.example/group/web/-/pipelines/{number}",
        "tag": False,
        "yaml_errors": None,
        "user": {"id": 1, "username": "root", "name": "Administrator", "state": "active"},
        "started_at": "2024-09-21T01:05:14.197Z",
        "finished_at": None if duration is None else "2024-09-21T01:05:50.175Z",
        "duration": duration,
        "queued_duration": 6,
        "coverage": None,
        "detailed_status": {"text": status, "label": status, "group": status},
    }


def job(number: int, name: str, status: str, *, allow_failure: bool = False) -> dict[str, Any]:
    return {"id": number, "name": name, "stage": "test", "status": status, "allow_failure": allow_failure}


PIPELINES = {
    "group/web": [
        pipeline(303, "feature", "running", None),
        pipeline(302, "main", "failed", 94),
        pipeline(301, "main", "success", 88),
    ],
    "group/api": [pipeline(412, "main", "failed", 94), pipeline(411, "main", "success", 90)],
    "group/docs": [pipeline(501, "main", "success", 12)],
    "group/empty": [],
    "group/private": [pipeline(601, "main", "success", 5)],
}
JOBS = {
    412: [
        job(4126, "deploy", "skipped"),
        job(4125, "e2e", "failed"),
        job(4124, "unit 单元测试", "failed"),
        job(4123, "audit", "failed", allow_failure=True),
        job(4122, "lint", "success"),
    ],
    302: [job(3021, "lint", "failed")],
}
NUMBERS = {"21": "group/web", "22": "group/api"}
BASIC = ("id", "iid", "project_id", "status", "source", "ref", "sha", "web_url", "created_at", "updated_at")


class GitLab(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seen: list[dict[str, str | None]] = []  # noqa: RUF012 - one list for all requests is what is wanted

    def do_GET(self) -> None:
        if self.path == "/seen":
            self.reply(200, self.seen)
            return
        token = self.headers["PRIVATE-TOKEN"]
        self.seen.append({"host": self.headers["Host"].partition(":")[0], "path": self.path, "token": token})
        if token == TOKEN_WITHOUT_SCOPE:
            self.reply(403, {"error": "insufficient_scope", "scope": "api read_api"})
        elif token != TOKEN:
            self.reply(401, {"message": "401 Unauthorized"})
        else:
            self.route()

    def route(self) -> None:
        parts = urlsplit(self.path)
        segments = parts.path.split("/")
        if segments[:4] != ["", "api", "v4", "projects"] or len(segments) < 6 or segments[5] != "pipelines":
            self.reply(*NOT_FOUND)
            return
        project = unquote(segments[4])
        project = NUMBERS.get(project, project)
        bad_day = BAD_DAYS.get(project)
        if bad_day is not None:
            bad_day(self)
        elif project == "group/private":
            self.reply(403, {"message": "403 Forbidden"})
        elif project not in PIPELINES:
            self.reply(404, {"message": "404 Project Not Found"})
        else:
            self.reply(*answer(PIPELINES[project], segments[6:], parse_qs(parts.query)))

    def reply(self, status: int, body: Any, **headers: str) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def redirect(self, host: str, path: str) -> None:
        address = f"http://{host}:{self.connection.getsockname()[1]}{path}"
        self.reply(301, {"message": "Moved"}, Location=address)

    def hang_up(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b'[{"id": 1')
        self.close_connection = True

    def log_message(self, *_args: object) -> None:
        """Stay silent: the first line is the address, and there is no second."""


def answer(pipelines: list[dict[str, Any]], path: list[str], query: dict[str, list[str]]) -> Answer:
    """Answer what comes after `/projects/:id/pipelines`."""
    if not path:
        return listed(pipelines, query)
    chosen = next((item for item in pipelines if str(item["id"]) == path[0]), None)
    if chosen is None:
        return 404, {"message": "404 Not found"}
    if path[1:] == ["jobs"]:
        return jobs(chosen, query)
    return (200, chosen) if len(path) == 1 else NOT_FOUND


def listed(pipelines: list[dict[str, Any]], query: dict[str, list[str]]) -> Answer:
    size = query.get("per_page", ["20"])[-1]
    if not size.isdigit() or not int(size):
        return 400, {"error": "per_page has a value not allowed"}
    wanted = [item for item in pipelines if item["ref"] == query.get("ref", [item["ref"]])[-1]]
    return 200, [{name: item[name] for name in BASIC} for item in wanted[: min(int(size), 100)]]


def jobs(chosen: dict[str, Any], query: dict[str, list[str]]) -> Answer:
    scopes = set(query.get("scope[]", JOB_SCOPES))
    if not scopes <= JOB_SCOPES:
        return 400, {"error": "scope does not have a valid value"}
    return 200, [item for item in JOBS.get(chosen["id"], []) if item["status"] in scopes]


def slow(_request: GitLab) -> None:
    time.sleep(60)


BAD_DAYS: dict[str, Callable[[GitLab], None]] = {
    "broken/down": lambda request: request.reply(503, b"<html>GitLab is not responding</html>"),
    "broken/busy": lambda request: request.reply(429, b"Retry later"),
    "broken/html": lambda request: request.reply(200, b"<html>Sign in</html>"),
    "broken/shape": lambda request: request.reply(200, {"pipelines": []}),
    "broken/items": lambda request: request.reply(200, ["303"]),
    "broken/cut": GitLab.hang_up,
    "broken/slow": slow,
    "moved/here": lambda request: request.redirect(
        "127.0.0.1", request.path.replace("moved%2Fhere", "group%2Fdocs")
    ),
    "moved/away": lambda request: request.redirect("localhost", request.path),
}


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", 0), GitLab) as server:
        print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)  # noqa: T201 - its one line
        server.serve_forever()
