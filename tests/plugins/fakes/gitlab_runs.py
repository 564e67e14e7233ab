"""A GitLab that a test can start, for plugins that make pipelines: the calls of its REST API that this takes, in its
documented shapes, and as strict as the real one. Run it; the first line it prints is its address.

`PUT /fake` sets how it behaves from then on (see `Day`) and forgets all pipelines; `GET /fake` tells what there is.
"""

from __future__ import annotations

import json
import re
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

TOKENS = {"glpat-right": "bot", "glpat-narrow": None}
REFS = {"group/web": {"main", "release/1.2", "功能"}, "group/api": {"main"}, "group/strict": {"main"}}
SOURCES = {"push", "web", "trigger", "schedule", "api", "pipeline"}
QUERY = {"source", "username", "updated_after", "order_by", "sort", "per_page", "page"}
VARIABLE = re.compile(r"[A-Za-z0-9_]{1,255}").fullmatch

Answer = tuple[int, Any]


@dataclass(frozen=True, slots=True)
class Day:
    """How GitLab behaves; times are in seconds.

    `create_after` and `answer_after` are waited before a pipeline is there and after. `status` other than 201 is answered
    instead, after making one if `creates`; `message` is its reason. `then` is `answer`, `drop` (hang up without a word),
    `cut` (in the middle of the answer), `odd` (an answer that is not GitLab's) or `move` (a redirect to another host).
    `search` is the status of every other call, `search_then` as `then`. `others` are pipelines that are there already,
    made by the same user; `hidden` has their variables refused, as those of somebody else's are.
    """

    create_after: float = 0.0
    answer_after: float = 0.0
    creates: bool = True
    status: int = 201
    message: Any = "An answer that was asked for"
    then: str = "answer"
    search: int = 200
    search_then: str = "answer"
    others: int = 0
    hidden: bool = False


class State:
    """What this GitLab knows: its pipelines, oldest first, and who has asked for what."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.day = Day()
        self.pipelines: list[dict[str, Any]] = []
        self.seen: list[dict[str, str]] = []

    def begin(self, day: Day) -> None:
        with self.lock:
            self.day = day
            self.pipelines = []
            self.seen = []
        for _ in range(day.others):
            self.create("group/web", {"ref": "main", "variables": []}, day)

    def create(self, project: str, order: dict[str, Any], day: Day) -> dict[str, Any]:
        with self.lock:
            number = 101 + len(self.pipelines)
            now = datetime.now(UTC).isoformat()
            told = {
                "id": number,
                "iid": number - 100,
                "project_id": 21,
                "sha": "50f0acb76a40e34a4ff304f7347dcc6587da8a14",
                "ref": order["ref"],
                "status": "created",
                "source": "api",
                "created_at": now,
                "updated_at": now,
                "web_url": f"http://gitlab.example/{project}/-/pipelines/{number}",
            }
            made = {"project": project, "variables": order["variables"], "told": told}
            if day is self.day:  # else it was asked for on a day that is over
                self.pipelines.append(made)
        return told


class GitLab(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state = State()

    def do_PUT(self) -> None:
        self.state.begin(Day(**self.body()))
        self.reply(200, {})

    def do_GET(self) -> None:
        parts, day = urlsplit(self.path), self.state.day
        if parts.path == "/fake":
            with self.state.lock:
                told = {"pipelines": list(self.state.pipelines), "seen": list(self.state.seen)}
            self.reply(200, told)
        elif (user := self.user()) is not None:
            if day.search != 200:
                self.then(day.search_then, day.search, {"message": "A bad day was asked for"})
            else:
                self.then(day.search_then, *found(self.state, user, parts.path, parse_qs(parts.query)))

    def do_POST(self) -> None:
        body, day = self.body(), self.state.day
        if self.user() is None:
            return
        project = re.fullmatch(r"/api/v4/projects/([^/]+)/pipeline", urlsplit(self.path).path)
        if project is None:
            self.reply(404, {"error": "404 Not Found"})
        elif self.headers.get_content_type() != "application/json":
            self.reply(415, {"error": "The provided content-type is not supported"})
        elif (refused := complaint(unquote(project[1]), body)) is not None:
            self.reply(*refused)
        else:
            time.sleep(day.create_after)
            made = self.state.create(unquote(project[1]), body, day) if day.creates else {"id": 1}
            time.sleep(day.answer_after)
            self.then(day.then, day.status, made if day.status == 201 else {"message": day.message})

    def body(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or b"{}")

    def user(self) -> str | None:
        """Take note of a request and return whose token it has; a wrong one is answered here."""
        token = self.headers["PRIVATE-TOKEN"] or ""
        host = (self.headers["Host"] or "").partition(":")[0]
        with self.state.lock:
            self.state.seen.append({"host": host, "path": self.path, "method": self.command})
        user = TOKENS.get(token)
        if token not in TOKENS:
            self.reply(401, {"message": "401 Unauthorized"})
        elif user is None:
            self.reply(
                403,
                {
                    "error": "insufficient_scope",
                    "error_description": "The request requires higher privileges",
                },
            )
        return user

    def then(self, what: str, status: int, body: Any) -> None:
        if what == "drop":
            self.close_connection = True
        elif what == "cut":
            self.send_response(status)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b'{"id": 10')
            self.close_connection = True
        elif what == "odd":
            self.reply(status, b"<html>Sign in</html>")
        elif what == "move":
            self.reply(302, {}, Location=f"http://localhost:{self.connection.getsockname()[1]}{self.path}")
        else:
            self.reply(status, body)

    def reply(self, status: int, body: Any, **headers: str) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)
        except OSError:  # whoever asked did not wait
            self.close_connection = True

    def log_message(self, *_args: object) -> None:
        """Stay silent: the first line is the address, and there is no second."""


def complaint(project: str, order: dict[str, Any]) -> Answer | None:
    """Return what GitLab has to say against making a pipeline, None if it has nothing."""
    variables = order.get("variables", [])
    if project == "group/private":
        return 403, {"message": "403 Forbidden"}
    if project not in REFS:
        return 404, {"message": "404 Project Not Found"}
    if not isinstance(order.get("ref"), str) or order.keys() - {"ref", "variables"}:
        return 400, {"error": "ref is missing"}
    if any(set(each) != {"key", "value"} or not VARIABLE(each["key"]) for each in variables):
        return 400, {"error": "variables[0][key] is invalid"}
    if any(not isinstance(each["value"], str) for each in variables):
        return 400, {"error": "variables[0][value] is invalid"}
    if variables and project == "group/strict":
        return 400, {"message": {"base": ["Insufficient permissions to set pipeline variables"]}}
    if order["ref"] not in REFS[project]:
        return 400, {"message": {"base": ["Reference not found"]}}
    return None


def found(state: State, user: str, path: str, query: dict[str, list[str]]) -> Answer:
    """Answer a call that only reads."""
    if path == "/api/v4/user":
        return 200, {"id": 7, "username": user, "name": "机器人", "state": "active"}
    part = re.fullmatch(r"/api/v4/projects/([^/]+)/pipelines(?:/(\d+)/variables)?", path)
    if part is None or unquote(part[1]) not in REFS:
        return 404, {"message": "404 Project Not Found"}
    with state.lock:
        pipelines = [each for each in state.pipelines if each["project"] == unquote(part[1])]
    if part[2] is None:
        return listed(pipelines, {name: values[-1] for name, values in query.items()}, user=user)
    chosen = next((each for each in pipelines if str(each["told"]["id"]) == part[2]), None)
    if chosen is None:
        return 404, {"message": "404 Not found"}
    if state.day.hidden:
        return 403, {"message": "403 Forbidden"}
    return 200, [each | {"variable_type": "env_var", "raw": False} for each in chosen["variables"]]


def listed(pipelines: list[dict[str, Any]], query: dict[str, str], *, user: str) -> Answer:
    size, page = query.get("per_page", "20"), query.get("page", "1")
    order = (query.get("order_by", "id"), query.get("sort", "desc"))
    if not (size.isdigit() and 0 < int(size) <= 100 and page.isdigit() and int(page)) or query.keys() - QUERY:
        return 400, {"error": "per_page does not have a valid value"}
    if query.get("source", "api") not in SOURCES or order != ("id", "desc"):
        return 400, {"error": "source does not have a valid value"}
    try:
        since = datetime.fromisoformat(query.get("updated_after", "1970-01-01T00:00:00+00:00"))
    except ValueError:
        return 400, {"error": "updated_after is invalid"}
    wanted = [
        each["told"]
        for each in reversed(pipelines)
        if query.get("source", "api") == "api"
        and query.get("username", user) == user
        and datetime.fromisoformat(each["told"]["updated_at"]) > since
    ]
    return 200, wanted[(int(page) - 1) * int(size) :][: int(size)]


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", 0), GitLab) as server:
        print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)  # noqa: T201 - its one line
        server.serve_forever()
