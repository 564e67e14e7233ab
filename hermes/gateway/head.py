"""The head of a request, read straight from the ASGI scope: what every handler asks for, without copies."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote_plus

from starlette.requests import HTTPConnection
from starlette.types import Scope

from hermes.errors import InvalidField


class Head:
    """Headers and query parameters of one request."""

    def __init__(self, scope: Scope) -> None:
        self._headers: Mapping[bytes, bytes] = dict(scope["headers"])
        self._query: bytes = scope["query_string"]

    @classmethod
    def of(cls, connection: HTTPConnection) -> Head:
        """Return the head of a request of Starlette's."""
        return cls(connection.scope)

    def header(self, name: bytes) -> str:
        """Return a header by its lower-case name, "" if it is not there."""
        return self._headers.get(name, b"").decode("latin-1")

    def query(self, *allowed: str) -> dict[str, str]:
        """Return the query parameters; raises InvalidField for one that is not allowed or is there twice."""
        found: dict[str, str] = {}
        for part in self._query.decode("latin-1").split("&") if self._query else ():
            name, _, value = part.partition("=")
            name = unquote_plus(name)
            if name not in allowed:
                names = ", ".join(allowed) or "none"
                raise InvalidField(f"there is no such parameter; allowed here: {names}", field=name)
            if name in found:
                raise InvalidField("it is there twice", field=name)
            found[name] = unquote_plus(value)
        return found
