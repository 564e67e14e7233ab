"""GitLab's REST API, version 4: one request at a time, and what is certain when there is no answer."""

import asyncio
import contextlib
import http.client
import json
import socket
import threading
from urllib.parse import SplitResult, quote, urlsplit

ANSWER_BYTES = 4 << 20
REQUEST_SECONDS = 20.0
GRACE_SECONDS = 1.5  # of the two that a cancelled call is given; the rest is for telling what came of it
REASON_CHARS = 200


class Failure(Exception):
    """Ends the call with an error, certain that nothing was made: a code of the envelope, a sentence in TEXT."""

    def __init__(self, code: str, text: str, *, retryable: bool = False, **facts: object) -> None:
        super().__init__(text)
        self.code, self.text, self.retryable, self.facts = code, text, retryable, facts


class NoAnswer(Exception):
    """A request may have reached GitLab, and no whole answer came back."""


class GitLab:
    """The API at the configured address, with the configured token, for the length of one call."""

    def __init__(self, config: dict, secrets: dict) -> None:
        base = config.get("base_url") or secrets.get("GITLAB_URL") or ""
        token = (config.get("token") or secrets.get("GITLAB_TOKEN") or "").strip()
        self._parts = checked_base(base)
        self._headers = {"Accept": "application/json", "PRIVATE-TOKEN": checked_token(token)}

    async def ask(
        self, method: str, path: str, *, seconds: float, body: dict | None = None
    ) -> tuple[int, object]:
        """Return the status and the JSON of an answer, None if it has none; `path` follows /api/v4.

        Raises Failure if nothing was sent, NoAnswer if that is in doubt. A POST that is cancelled is given a moment for
        its answer, which is returned then; nothing is sent any more.
        """
        exchange = Exchange(self._parts, method, path="/api/v4" + path, headers=self._headers, body=body)
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
        status, content = work.result()
        return status, parsed(content)


class Exchange:
    """One request on a connection of its own, made in a thread: what fails before it is sent has done nothing.

    Redirects are answers like any other: whoever follows one shows the token to somebody else.
    """

    def __init__(
        self, parts: SplitResult, method: str, *, path: str, headers: dict, body: dict | None
    ) -> None:
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
            self._connection.timeout = min(seconds, REQUEST_SECONDS)
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
                    content = response.read(ANSWER_BYTES)
                    if response.read(1) or response.length:  # far too long, or cut off
                        raise NoAnswer("an answer that is cut off or too long")
                    return response.status, content
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


def project_path(project: str, namespace: str | None) -> str:
    """Return the path GitLab knows a project by: a bare name lies in the configured namespace."""
    project = project.strip("/")
    bare = "/" not in project and not project.isdigit()
    return f"{namespace.strip('/')}/{project}" if namespace and bare else project


def api_path(project: str) -> str:
    """Return where the API has a project."""
    return f"/projects/{quote(project, safe='')}"


def checked_base(base: str) -> SplitResult:
    """Return the address of GitLab without a slash at its end."""
    if not base:
        raise Failure("not_configured", "no_url")
    try:
        parts = urlsplit(base.rstrip("/"))
        usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        raise Failure("not_configured", "bad_url") from None
    odd = "@" in parts.netloc or parts.query or parts.fragment
    if not usable or odd or not base.isascii() or not base.isprintable() or " " in base:
        raise Failure("not_configured", "bad_url")
    return parts


def checked_token(token: str) -> str:
    """Return the token; one that is no header value would come back to the caller inside an exception."""
    if not token:
        raise Failure("not_configured", "no_token")
    if not (token.isascii() and token.isprintable() and " " not in token):
        raise Failure("not_configured", "bad_token")
    return token


def parsed(content: bytes) -> object:
    """Return the JSON in `content`, None if it is none."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def refusal(status: int, answer: object) -> Failure:
    """Return what a status below 500 means for the caller: nothing was made."""
    reason = reason_of(answer) or f"HTTP {status}"
    known = {
        401: Failure("upstream_denied", "unauthorized"),
        403: Failure("upstream_denied", "forbidden"),
        404: Failure("not_found", "no_project"),
        429: Failure("upstream_unavailable", "busy", retryable=True),
    }
    if status < 400:
        return Failure("upstream_denied", "elsewhere")
    if status == 400 and "reference not found" in reason.lower():
        return Failure("not_found", "no_ref")
    if status == 400 and "permission" in reason.lower():
        return Failure("upstream_denied", "refused", reason=reason)
    return known.get(status) or Failure("invalid_payload", "refused", reason=reason)


def reason_of(answer: object) -> str:
    """Return what GitLab says against a request: `message` is a text, a list, or an object of lists; or `error` is."""
    said = answer.get("message") or answer.get("error") if isinstance(answer, dict) else None
    if isinstance(said, dict):
        said = [text for texts in said.values() for text in (texts if isinstance(texts, list) else [texts])]
    texts = said if isinstance(said, list) else [said or ""]
    return " ".join("; ".join(map(str, texts)).split())[:REASON_CHARS]
