"""The address of a request: where its host ends, and what may stand before that."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote, urlsplit

LITERAL: Final = "!$&'()*+,;=:@-._~%/"
"""What may stay in an address as its author wrote it, beside letters and digits."""
_outside = re.compile(r"[\x00-\x20\x7f\\]").search
_end_of_host = re.compile(r"[/?#]")


def split_address(text: str) -> tuple[str, str]:
    """Return an address up to the end of its host and what follows; a host may be hidden in a variable."""
    scheme = text.find("://")
    host = scheme + 3 if scheme >= 0 and not set(text[:scheme]) & set("/?#") else 0
    found = _end_of_host.search(text, host)
    end = len(text) if found is None else found.start()
    return text[:end], text[end:]


def base_problem(base: str) -> str:
    """Return what is wrong with the beginning of an address, which has its host and perhaps a path; empty if nothing."""
    if _outside(base):
        return "holds a space, a backslash or a control character"
    try:
        parts = urlsplit(base)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        return f"is no address: {error}"
    if parts.scheme not in {"http", "https"} or not host:
        return "must be an address such as https://api.example.com"
    if parts.username is not None or parts.password is not None:
        return "must not hold a user or a password; send them in headers"
    if parts.query or parts.fragment:
        return "must end before ? and #"
    return ""


def base_of(text: str) -> str:
    """Return the beginning of an address as it is sent; raises ValueError, which does not show it, if it is none."""
    if reason := base_problem(text):
        raise ValueError(f"the address {reason}")
    parts = urlsplit(text)
    host = parts.hostname or ""
    try:
        name = host if host.isascii() else host.encode("idna").decode("ascii")
    except UnicodeError:
        raise ValueError("the address has a host that cannot be written as DNS wants it") from None
    name = f"[{name}]" if ":" in name else name
    port = "" if parts.port is None else f":{parts.port}"
    return f"{parts.scheme}://{name}{port}{quote(parts.path.rstrip('/'), safe=LITERAL)}"
