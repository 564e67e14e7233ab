"""A Jira that a test can start: the few calls of its REST API that plugins make, in its documented shapes, and as
strict as the real one. Run it; the first line it prints is its address.

`PUT /fake` sets how it behaves from then on (see `Day`) and forgets all issues; `GET /fake` tells what there is.
"""

from __future__ import annotations

import base64
import json
import re
import threading
import time
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "jira-right"
USER = "ops@example.com"
PROJECTS = {"OPS", "WEB"}
TYPES = {"Task", "Bug", "任务"}
FIELDS = {"project", "issuetype", "summary", "description", "labels"}
READABLE = re.compile(r'project = "(?P<project>[A-Z][A-Z0-9_]*)" AND labels = "(?P<label>[\w-]+)"').fullmatch
OLD_SEARCH, NEW_SEARCH = "/rest/api/2/search", "/rest/api/3/search/jql"

Answer = tuple[int, Any]


@dataclass(frozen=True, slots=True)
class Day:
    """How Jira behaves; times are in seconds.

    `create_after` and `answer_after` are waited before an issue is there and after. `status` other than 201 is answered
    instead, after creating if `creates`. `then` is `answer`, `drop` (hang up without a word), `cut` (in the middle of
    the answer), `odd` (an answer that is not Jira's) or `move` (a redirect to another host). New issues are found after
    `search_lag`; `search` is the status of every search, `search_then` as `then`, `old_search` that of the search which
    Jira Cloud has given up.
    """

    create_after: float = 0.0
    answer_after: float = 0.0
    creates: bool = True
    status: int = 201
    then: str = "answer"
    search_lag: float = 0.0
    search: int = 200
    search_then: str = "answer"
    old_search: int = 200


class State:
    """What this Jira knows: its issues, oldest first, and who has asked for what."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.day = Day()
        self.issues: list[dict[str, Any]] = []
        self.seen: list[dict[str, str]] = []

    def create(self, fields: dict[str, Any], day: Day) -> dict[str, Any]:
        with self.lock:
            key = f"{fields['project']['key']}-{len(self.issues) + 1}"
            issue = {
                "id": str(10_000 + len(self.issues)),
                "key": key,
                "fields": fields,
                "at": time.monotonic(),
            }
            if day is self.day:  # else it was asked for on a day that is over
                self.issues.append(issue)
        return issue

    def told(self) -> dict[str, Any]:
        with self.lock:
            return {"day": asdict(self.day), "issues": list(self.issues), "seen": list(self.seen)}


class Jira(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state = State()

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        day = self.state.day
        if parts.path == "/fake":
            self.reply(200, self.state.told())
        elif self.admitted():
            if parts.path not in (OLD_SEARCH, NEW_SEARCH):
                self.reply(404, {"errorMessages": [], "errors": {}})
            elif parts.path == OLD_SEARCH and day.old_search != 200:
                self.reply(day.old_search, {"errorMessages": ["The requested API has been removed."]})
            else:
                self.then(
                    day.search_then, *found(self.state, parse_qs(parts.query), new=parts.path == NEW_SEARCH)
                )

    def do_PUT(self) -> None:
        day = Day(**self.body())
        with self.state.lock:
            self.state.day = day
            self.state.issues.clear()
            self.state.seen.clear()
        self.reply(200, {})

    def do_POST(self) -> None:
        body, day = self.body(), self.state.day
        if not self.admitted():
            return
        if urlsplit(self.path).path != "/rest/api/2/issue":
            self.reply(404, {"errorMessages": [], "errors": {}})
        elif self.headers.get_content_type() != "application/json":
            self.reply(415, {"errorMessages": ["Unsupported Media Type"], "errors": {}})
        elif errors := complaints(body.get("fields", {})):
            self.reply(400, {"errorMessages": [], "errors": errors})
        else:
            time.sleep(day.create_after)
            issue = self.state.create(body["fields"], day) if day.creates else {"id": "1", "key": "OPS-0"}
            time.sleep(day.answer_after)
            created = {name: issue[name] for name in ("id", "key")} | {
                "self": f"/rest/api/2/issue/{issue['id']}"
            }
            refused = {"errorMessages": [f"Answer {day.status} was asked for."], "errors": {}}
            self.then(day.then, day.status, created if day.status == 201 else refused)

    def body(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or b"{}")

    def admitted(self) -> bool:
        """Take note of a request and say whether its token is right; a wrong one is answered here."""
        kind, _, secret = (self.headers["Authorization"] or "").partition(" ")
        host = (self.headers["Host"] or "").partition(":")[0]
        with self.state.lock:
            self.state.seen.append({"host": host, "path": self.path, "method": self.command, "auth": kind})
        basic = base64.b64encode(f"{USER}:{TOKEN}".encode()).decode()
        if (kind, secret) in (("Bearer", TOKEN), ("Basic", basic)):
            return True
        self.reply(401, {"errorMessages": ["You are not authenticated."], "errors": {}})
        return False

    def then(self, what: str, status: int, body: Any) -> None:
        if what == "drop":
            self.close_connection = True
        elif what == "cut":
            self.send_response(status)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b'{"key": "OPS-')
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


def complaints(fields: dict[str, Any]) -> dict[str, str]:
    """Return what Jira has to say against the fields of a new issue, by the name of the field."""
    wrong = {name: f"Field '{name}' cannot be set." for name in fields.keys() - FIELDS}
    summary, labels = fields.get("summary"), fields.get("labels", [])
    if fields.get("project", {}).get("key") not in PROJECTS:
        wrong["project"] = "valid project is required"
    elif fields.get("issuetype", {}).get("name") not in TYPES:
        wrong["issuetype"] = "The issue type selected is invalid."
    if not isinstance(summary, str) or not summary.strip():
        wrong["summary"] = "You must specify a summary of the issue."
    elif len(summary) > 255 or "\n" in summary:
        wrong["summary"] = "The summary is invalid."
    if not isinstance(fields.get("description", ""), str):
        wrong["description"] = "Operation value must be a string"
    if any(not isinstance(label, str) or re.search(r"\s", label) or len(label) > 255 for label in labels):
        wrong["labels"] = "The label contains spaces which is invalid."
    return wrong


def found(state: State, query: dict[str, list[str]], *, new: bool) -> Answer:
    """Answer a search."""
    read = READABLE(query.get("jql", [""])[-1])
    if state.day.search != 200:
        return state.day.search, {"errorMessages": ["A bad day was asked for."], "errors": {}}
    if read is None or read["project"] not in PROJECTS:
        return 400, {"errorMessages": ["The value does not exist for the field 'project'."], "errors": {}}
    since = time.monotonic() - state.day.search_lag
    wanted = query.get("fields", [""])[-1].split(",")
    with state.lock:
        issues = [
            {"id": issue["id"], "key": issue["key"]}
            | {"fields": {name: issue["fields"][name] for name in wanted if name in issue["fields"]}}
            for issue in state.issues
            if read["label"] in issue["fields"]["labels"] and issue["at"] <= since
        ]
    issues = issues[: int(query.get("maxResults", ["50"])[-1])]
    return 200, {"issues": issues} | ({"isLast": True} if new else {"startAt": 0, "total": len(issues)})


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", 0), Jira) as server:
        print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)  # noqa: T201 - its one line
        server.serve_forever()
