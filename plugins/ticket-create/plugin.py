"""Creates a ticket in Jira through its REST API: one, however often the message is tried."""

import asyncio
import base64
import contextlib
import hashlib
import http.client
import json
import re
import socket
import threading
import time
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from hermes.sdk import NotDone, OutcomeUnknown

CREATE = "/rest/api/2/issue"
SEARCHES = ("/rest/api/2/search", "/rest/api/3/search/jql")  # Jira Cloud has given the first one up
ANSWER_BYTES = 1 << 20
REASON_CHARS = 200
REQUEST_SECONDS = 10.0
GRACE_SECONDS = 1.5  # of the two that a cancelled call is given; the rest is for telling what came of it
LOOKUP_SECONDS = 8.0
MARGIN_SECONDS = 0.5  # left of the call's own time to tell the caller what went wrong

TEXT = json.loads(Path(__file__).with_name("sentences.json").read_text("utf-8"))


class Failure(Exception):
    """Ends the call with an error, certain that no ticket was created: a code of the envelope, a sentence in TEXT."""

    def __init__(self, code: str, text: str, *, retryable: bool = False, **facts: object) -> None:
        super().__init__(text)
        self.code, self.text, self.retryable, self.facts = code, text, retryable, facts


class NoAnswer(Exception):
    """A request may have reached Jira, and no whole answer came back."""


async def handle(message: dict, context: dict) -> dict:
    """Create a ticket of `summary`, `description` and `type` in `project`; return its key, url, summary, project."""
    text = TEXT[context["locale"]]
    project = (message["payload"].get("project") or context["config"].get("project") or "").upper()
    try:
        ticket = Ticket(project, message["payload"], context=context)
        data = await context["once"]("issue", ticket.create, lookup=ticket.find)
    except Failure as failure:
        sentence = text[failure.text].format(project=project, **failure.facts)
        error = {"code": failure.code, "message": sentence, "retryable": failure.retryable}
        return {"data": None, "error": error}
    return {"data": data, "error": None}


class Ticket:
    """The one ticket of a message. A label made from the message's idempotency key finds it again."""

    def __init__(self, project: str, payload: dict, *, context: dict) -> None:
        self._jira = Jira(context["config"], context["secrets"])
        if not project:
            raise Failure("invalid_payload", "project_needed")
        self._context, self._text = context, TEXT[context["locale"]]
        self._project, self._summary = project, payload["summary"].strip()
        self._label = "hermes-" + hashlib.sha256(context["idempotency_key"].encode()).hexdigest()[:16]
        self._fields = {
            "project": {"key": project},
            "issuetype": {"name": payload.get("type") or context["config"].get("issue_type") or "Task"},
            "summary": self._summary,
            "labels": [self._label],
        }
        if payload.get("description"):
            self._fields["description"] = payload["description"]
        self._searches = list(SEARCHES)

    async def create(self) -> dict:
        """Create it; raise Failure if certainly nothing was created, OutcomeUnknown if that is in doubt."""
        await self._context["progress"](self._text["creating"].format(project=self._project))
        if self._seconds_left() <= 0:
            raise Failure("upstream_unavailable", "no_time", retryable=True)
        seconds = self._seconds_left() + REQUEST_SECONDS  # the call's own time is up before
        try:
            status, body = await self._jira.ask(
                "POST", CREATE, body={"fields": self._fields}, seconds=seconds
            )
        except NoAnswer as reason:
            self._context["log"].warning("Jira gave no answer: %s", reason)
            raise OutcomeUnknown(self._text["unknown"]) from None
        if status in (200, 201) and (key := key_of(parsed(body))):
            return self._found(key, self._summary)
        self._context["log"].warning("Jira answered %s", status)
        if 300 <= status < 500 and status != 408:
            raise refusal(status, body)
        raise OutcomeUnknown(self._text["unknown"])

    async def find(self) -> dict:
        """Return what an earlier attempt created; raise NotDone only if Jira keeps saying that there is none.

        What has just been created may not be found for some seconds yet.
        """
        await self._context["progress"](self._text["looking"])
        wanted = self._context["config"].get("lookup_seconds", LOOKUP_SECONDS)
        seconds = min(wanted, max(self._seconds_left(), 0))
        ends, pause = time.monotonic() + seconds, 0.25
        while (found := await self._search()) is None:
            left = ends - time.monotonic()
            if left <= 0:
                break
            await asyncio.sleep(min(pause, left))
            pause = min(2 * pause, 2.0)
        if found is None and seconds < wanted:
            raise OutcomeUnknown(self._text["cannot_look"])
        if found is None:
            await self._context["progress"](self._text["absent"])
            raise NotDone
        return found

    async def _search(self) -> dict | None:
        # A project that the token cannot see is an error for Jira, where a label alone would find nothing.
        jql = f'project = "{self._project}" AND labels = "{self._label}"'
        query = urlencode({"jql": jql, "maxResults": 1, "fields": "summary"})
        seconds = min(REQUEST_SECONDS, max(self._seconds_left(), MARGIN_SECONDS))
        try:
            status, body = await self._jira.ask("GET", f"{self._searches[0]}?{query}", seconds=seconds)
        except (Failure, NoAnswer) as reason:
            self._context["log"].warning("Jira cannot be asked: %s", reason)
            raise OutcomeUnknown(self._text["cannot_look"]) from None
        if status in (404, 410) and len(self._searches) > 1:
            del self._searches[0]
            return await self._search()
        issues = parsed(body).get("issues")
        if status == 200 and issues == []:
            return None
        issue = issues[0] if status == 200 and isinstance(issues, list) else None
        if not (key := key_of(issue)):
            self._context["log"].warning("Jira answered a search with %s", status)
            raise OutcomeUnknown(self._text["cannot_look"])
        return self._found(key, (issue.get("fields") or {}).get("summary") or self._summary)

    def _found(self, key: str, summary: str) -> dict:
        url = f"{self._jira.base}/browse/{key}"
        return {"key": key, "url": url, "summary": summary, "project": key.rpartition("-")[0]}

    def _seconds_left(self) -> float:
        deadline = self._context["deadline"]
        return REQUEST_SECONDS if deadline is None else deadline - time.time() - MARGIN_SECONDS


class Jira:
    """Jira's REST API at the configured address, with the configured token."""

    def __init__(self, config: dict, secrets: dict) -> None:
        base = config.get("base_url") or secrets.get("JIRA_URL") or ""
        user = config.get("user") or secrets.get("JIRA_USER") or ""
        token = (config.get("token") or secrets.get("JIRA_TOKEN") or "").strip()
        self.base = checked_base(base)
        self._parts = urlsplit(self.base)
        self._headers = {"Accept": "application/json", "Authorization": authorization(user, token)}

    async def ask(
        self, method: str, path: str, *, seconds: float, body: dict | None = None
    ) -> tuple[int, bytes]:
        """Return status and body of an answer; raise Failure if nothing was sent, NoAnswer if that is in doubt.

        A POST that is cancelled is given a moment for its answer, which is returned then; nothing is sent any more.
        """
        exchange = Exchange(self._parts, method, path=path, headers=self._headers, body=body)
        work = asyncio.create_task(asyncio.to_thread(exchange.run, seconds))
        work.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may be left to ask
        try:
            await asyncio.wait({work}, timeout=seconds)
        except asyncio.CancelledError:
            exchange.hold()
            await asyncio.wait({work}, timeout=GRACE_SECONDS if method == "POST" else 0)
            if method != "POST" or not work.done():
                raise
        finally:
            exchange.stop()
        if not work.done():
            raise NoAnswer("no answer in time")
        return work.result()


class Exchange:
    """One request on a connection of its own, made in a thread: what fails before it is sent has done nothing.

    Redirects are answers like any other: whoever follows one shows the token to somebody else.
    """

    def __init__(self, parts, method: str, *, path: str, headers: dict, body: dict | None) -> None:
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(parts.hostname, parts.port, timeout=REQUEST_SECONDS)
        self._held = threading.Event()
        self._socket = None
        content = None if body is None else json.dumps(body).encode()
        headers = headers if body is None else headers | {"Content-Type": "application/json"}
        self._request = (method, parts.path + path, content, headers)

    def run(self, seconds: float) -> tuple[int, bytes]:
        """Connect, send and read the answer; no step waits longer than `seconds`."""
        try:
            self._connection.connect()
        except (OSError, ValueError) as error:  # unknown, shut, no certificate, no name that a host can have
            raise Failure("upstream_unavailable", "unreachable", retryable=True) from error
        self._socket = self._connection.sock
        with contextlib.closing(self._connection):
            if self._held.is_set():
                raise Failure("upstream_unavailable", "no_time", retryable=True)
            self._socket.settimeout(seconds)
            try:
                self._connection.request(*self._request)
                with self._connection.getresponse() as response:
                    body = response.read(ANSWER_BYTES)
                    if response.read(1) or response.length:  # far too long, or cut off
                        raise NoAnswer("an answer that is cut off or too long")
                    return response.status, body
            except (OSError, ValueError, http.client.HTTPException) as error:
                raise NoAnswer(type(error).__name__) from None

    def hold(self) -> None:
        """Send nothing any more."""
        self._held.set()

    def stop(self) -> None:
        """Give up: the thread ends at its next step, one that waits on the network at once."""
        self.hold()
        if self._socket is not None:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


def checked_base(base: str) -> str:
    """Return the address of Jira without a slash at its end."""
    if not base:
        raise Failure("not_configured", "no_url")
    try:
        parts = urlsplit(base)
        usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if (
        not usable
        or "@" in parts.netloc
        or parts.query
        or parts.fragment
        or not base.isascii()
        or " " in base
    ):
        raise Failure("not_configured", "bad_url")
    return base.rstrip("/")


def authorization(user: str, token: str) -> str:
    """Return the header for a user's API token, or for a personal access token if there is no user."""
    if not token:
        raise Failure("not_configured", "no_token")
    if not (token.isascii() and token.isprintable() and " " not in token):
        raise Failure("not_configured", "bad_token")
    if ":" in user or not user.isprintable():
        raise Failure("not_configured", "bad_user")
    return "Basic " + base64.b64encode(f"{user}:{token}".encode()).decode() if user else f"Bearer {token}"


def parsed(body: bytes) -> dict:
    """Return the JSON object in `body`, an empty one if it is none."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    return answer if isinstance(answer, dict) else {}


def key_of(issue: object) -> str | None:
    """Return the key of an issue in an answer of Jira, such as OPS-7; None if it is no issue."""
    key = issue.get("key") if isinstance(issue, dict) else None
    return key if isinstance(key, str) and re.fullmatch(r"[A-Z][A-Z0-9_]*-\d+", key) else None


def refusal(status: int, body: bytes) -> Failure:
    """Return what a status below 500 means for the caller: nothing was created."""
    errors = parsed(body).get("errors")
    errors = errors if isinstance(errors, dict) else {}
    messages = parsed(body).get("errorMessages")
    reasons = [str(each) for each in (messages if isinstance(messages, list) else [])]
    reasons += [f"{name}: {each}" for name, each in errors.items()]
    reason = " ".join("; ".join(reasons).split())[:REASON_CHARS] or f"HTTP {status}"
    known = {
        400: Failure("invalid_payload", "refused", reason=reason),
        401: Failure("upstream_denied", "unauthorized"),
        403: Failure("upstream_denied", "forbidden"),
        404: Failure("upstream_unavailable", "not_jira"),
        405: Failure("upstream_unavailable", "not_jira"),
        413: Failure("invalid_payload", "too_large"),
        429: Failure("upstream_unavailable", "busy", retryable=True),
    }
    if status == 400 and "project" in errors:
        return Failure("not_found", "no_project")
    if status < 400:
        return Failure("upstream_denied", "elsewhere")
    return known.get(status) or Failure("upstream_denied", "status", status=status)
