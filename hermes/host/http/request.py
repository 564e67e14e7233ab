"""A request of HTTP made from a manifest's description and a payload. It is not sent here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, unquote

import orjson

from hermes.host.http.address import LITERAL, base_of, split_address
from hermes.host.http.options import HttpFile
from hermes.host.http.templates import Absent, Template, as_text, member
from hermes.values import value

_control = re.compile(r"[\x00-\x1f\x7f]").search


class Unfit(Exception):
    """A payload makes no request: `reason` is `absent`, `path` or `header`, `field` the member that it is about."""

    def __init__(self, reason: str, field: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.reason = reason
        self.field = field


@value
class Outgoing:
    """A request that is ready to be sent; every character of `url` is one that may stand there."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes | None


class RequestTemplate:
    """What a manifest says under `http` of the request, with its variables filled in.

    Raises ValueError if they make no address; it does not show them.
    """

    def __init__(self, described: HttpFile, variables: Mapping[str, str]) -> None:
        self._method = described.method
        head, tail = split_address(described.url)
        self._base = base_of(Template(head).bind(variables).fill({}))
        path, _, query = tail.partition("?")
        self._path = [self._part(segment, variables) for segment in path.split("/")]
        self._query = [self._parameter(text, variables) for text in query.split("&") if text]
        self._headers = {name: Template(text).bind(variables) for name, text in described.headers.items()}
        self._body = _bound(described.body, variables)

    def fill(self, payload: Mapping[str, Any]) -> Outgoing:
        """Return the request for a payload; raises Unfit.

        What the payload lacks is left out of query, headers and body, and cannot be left out of the path.
        """
        path = "/".join(_segment(part, payload) for part in self._path)
        query = "&".join(pair for name, part in self._query for pair in _pairs(name, part, payload=payload))
        headers = {
            name: text for name, part in self._headers.items() if (text := _header(part, payload)) is not None
        }
        body = None
        if self._body is not None:
            try:
                body = orjson.dumps(_filled(self._body, payload))
            except Absent as absent:
                raise Unfit("absent", absent.field) from None
        url = self._base + path + ("?" + query if query else "")
        return Outgoing(self._method, url, headers, body)

    def _part(self, text: str, variables: Mapping[str, str]) -> Template:
        return Template(text).bind(
            variables, encode=_encode, literal=lambda plain: quote(plain, safe=LITERAL)
        )

    def _parameter(self, text: str, variables: Mapping[str, str]) -> tuple[Template | None, Template]:
        name, equals, content = text.partition("=")
        if not equals:
            return None, self._part(name, variables)
        return self._part(name, variables), self._part(content, variables)


def _encode(text: str) -> str:
    return quote(text, safe="")


def _segment(part: Template, payload: Mapping[str, Any]) -> str:
    """Return one step of a path. What a payload fills in may neither vanish nor lead out of it."""
    if not part.fields:
        return part.fill({})
    try:
        for field in part.fields:
            if isinstance(member(payload, field), dict | list):
                raise Unfit("path", field)
        text = part.fill(payload, encode=_encode)
    except Absent as absent:
        raise Unfit("absent", absent.field) from None
    steps = re.split(r"[/\\]", unquote(text))
    if not unquote(text) or "." in steps or ".." in steps:
        raise Unfit("path", part.fields[0])
    return text


def _pairs(name: Template | None, part: Template, *, payload: Mapping[str, Any]) -> Iterator[str]:
    """Yield what becomes of one parameter of a query: nothing if it is absent, one for each item of a list."""
    try:
        whole = member(payload, part.whole) if part.whole is not None else None
        items = whole if isinstance(whole, list) else [whole]
        texts = [_encode(as_text(item)) for item in items] if whole is not None else None
        for text in texts if texts is not None else [part.fill(payload, encode=_encode)]:
            yield text if name is None else f"{name.fill(payload, encode=_encode)}={text}"
    except Absent:
        return


def _header(part: Template, payload: Mapping[str, Any]) -> str | None:
    try:
        text = part.fill(payload).strip()
    except Absent:
        return None
    if _control(text):
        raise Unfit("header", part.fields[0] if part.fields else "")
    return text


def _bound(body: Any, variables: Mapping[str, str]) -> Any:
    """Return a body with a template in the place of every text."""
    if isinstance(body, dict):
        return {key: _bound(inner, variables) for key, inner in body.items()}
    if isinstance(body, list):
        return [_bound(inner, variables) for inner in body]
    return Template(body).bind(variables) if isinstance(body, str) else body


def _filled(body: Any, payload: Mapping[str, Any]) -> Any:
    if isinstance(body, dict):
        return {key: found for key, inner in body.items() for found in _present(inner, payload)}
    if isinstance(body, list):
        return [found for inner in body for found in _present(inner, payload)]
    if not isinstance(body, Template):
        return body
    if body.whole is not None and body.whole in payload:
        return payload[body.whole]  # with its own type, null too
    return body.fill(payload)


def _present(inner: Any, payload: Mapping[str, Any]) -> Iterator[Any]:
    try:
        yield _filled(inner, payload)
    except Absent:
        return
