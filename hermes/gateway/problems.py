"""Errors of shape and admission as RFC 9457 problem details."""

from __future__ import annotations

from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

from hermes.errors import Expired, HermesError, InvalidField, RateLimited, Unauthorized, Unavailable

MEDIA_TYPE = "application/problem+json"

_STATUS: dict[str, tuple[int, str]] = {
    "malformed": (400, "The body cannot be read"),
    "unauthorized": (401, "A key is needed"),
    "forbidden": (403, "Not allowed"),
    "not_found": (404, "Not found"),
    "method_not_allowed": (405, "Method not allowed"),
    "conflict": (409, "Conflict"),
    "already_decided": (409, "Already decided"),
    "too_large": (413, "Too large"),
    "unsupported_media_type": (415, "Unsupported media type"),
    "invalid_field": (422, "A field is not valid"),
    "rate_limited": (429, "Too many requests"),
    "internal": (500, "Internal error"),
    "unavailable": (503, "Not available now"),
}


def problem(
    code: str,
    detail: str,
    *,
    gone: bool = False,
    headers: dict[str, str] | None = None,
    **members: Any,
) -> Response:
    """Return a problem of one of the contract's codes; `members` are added to it as they are.

    `gone` says that the time for what was asked is over.
    """
    status, title = (410, "Too late") if gone else _STATUS[code]
    known = {name: value for name, value in members.items() if value is not None}
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, "code": code, **known}
    return Response(orjson.dumps(body), status, headers, media_type=MEDIA_TYPE)


def problem_of(error: HermesError, **members: Any) -> Response:
    """Return the problem that an error makes."""
    headers: dict[str, str] = {}
    if isinstance(error, RateLimited | Unavailable):
        headers["Retry-After"] = str(error.retry_after)
    if isinstance(error, Unauthorized):
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, InvalidField):
        members["field"] = error.field
    code = error.code if error.code in _STATUS else "internal"
    detail = error.detail if code != "internal" else "Hermes could not do this; the log has the reason"
    return problem(code, detail, gone=isinstance(error, Expired), headers=headers, **members)


async def on_hermes_error(_request: Request, error: Exception) -> Response:
    """Answer what a handler refused."""
    return problem_of(error if isinstance(error, HermesError) else HermesError(""))


async def on_not_found(request: Request, _error: Exception) -> Response:
    """Answer a path that does not exist."""
    return problem("not_found", f"there is nothing at {request.url.path}")


async def on_wrong_method(request: Request, _error: Exception) -> Response:
    """Answer a method that a path does not have, with those that it has."""
    here = (route for route in request.app.routes if route.path_regex.match(request.scope["path"]))
    allowed = sorted({method for route in here for method in route.methods})
    return problem(
        "method_not_allowed",
        f"{request.method} is not possible here",
        headers={"Allow": ", ".join(allowed)},
    )
