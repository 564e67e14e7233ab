"""What a manifest says under `http`, and what may be wrong with it; nothing of it is sent here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from hermes.config.document import ABSENT, Document, KeyPath
from hermes.config.validation import InvalidPart
from hermes.errors import ConfigError
from hermes.host.http.address import base_problem, split_address
from hermes.host.http.templates import Template
from hermes.host.manifests.manifest_file import ManifestSection, Text

_OURS = frozenset({"connection", "content-length", "host", "te", "trailer", "transfer-encoding", "upgrade"})
_token = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+").fullmatch
_control = re.compile(r"[\x00-\x1f\x7f]").search


def _headers(value: dict[str, str]) -> dict[str, str]:
    seen: set[str] = set()
    for name, text in value.items():
        if not _token(name):
            raise InvalidPart("is no name of a header", (name,))
        if name.lower() in _OURS:
            raise InvalidPart("is set by Hermes; remove it", (name,))
        if name.lower() in seen:
            raise InvalidPart("is there twice; case makes no difference", (name,))
        if _control(text):
            raise InvalidPart("must not hold line breaks or other control characters", (name,))
        if name.lower() == "content-type" and "json" not in text.lower():
            raise InvalidPart("must be one of JSON, which the body always is; remove it", (name,))
        seen.add(name.lower())
    return value


Pointer = Annotated[str, Field(pattern=r"^(/([^~/]|~[01])*)*$")]


class ResponseFile(ManifestSection):
    """Where in an answer of JSON to look, as JSON pointers such as /data/items/0."""

    data: Pointer = ""
    """What becomes the result; the whole answer if left out."""
    error: Pointer | None = None
    """What says that the answer is an error, if it is there and not empty, false or 0; a text is the error's sentence."""


class HttpFile(ManifestSection):
    """The request that a call becomes: {name} stands for a member of the payload, ${NAME} for a variable named in env."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    url: Text
    """Where to send it. {name} may stand behind the host, and is encoded; ${NAME} may be the beginning, host included."""
    headers: Annotated[dict[str, str], AfterValidator(_headers)] = Field(default_factory=dict)
    body: Any = None
    """JSON. A text that is nothing but {name} becomes the member with its own type; what the payload lacks is left out."""
    response: ResponseFile = Field(default_factory=ResponseFile)


def http_problems(document: Document, described: HttpFile) -> list[ConfigError]:
    """Find addresses that a stranger could choose, variables and members that nobody gives, and bodies that are not sent."""
    found = [*_address_problems(described), *_place_problems(document, described)]
    if described.body is not None and described.method in {"GET", "DELETE"}:
        found.append(
            (("body",), f"is not sent with {described.method}; remove it, or use POST, PUT or PATCH")
        )
    return [document.problem(("http", *path), detail) for path, detail in found]


def _address_problems(described: HttpFile) -> Iterator[tuple[KeyPath, str]]:
    head, tail = split_address(described.url)
    begins = Template(head)
    if begins.fields:
        detail = (
            f"has {{{begins.fields[0]}}} before the path: whoever asks would choose where the request goes"
        )
        yield ("url",), f"{detail}; write the host out, or use ${{NAME}}"
    elif not head.startswith("${"):  # else it is looked at when the variable is known
        reason = base_problem(begins.bind(dict.fromkeys(begins.variables, "a")).fill({}))
        if reason:
            yield ("url",), reason
    if "#" in tail:
        yield ("url",), "has a # part, which is never sent; remove it"


def _place_problems(document: Document, described: HttpFile) -> Iterator[tuple[KeyPath, str]]:
    named, known = document.at(("env",)), _known_fields(document)
    env = named if isinstance(named, list) else []
    for path, text in _texts(described):
        template = Template(text)
        if any(piece.kind == "text" and "${" in piece.text for piece in template.pieces):
            yield path, "has a ${ that does not begin a ${NAME}"
        for name in template.variables:
            if name not in env:
                yield path, f"has ${{{name}}}, which is not named in env; add it there"
        for name in template.fields:
            if known is not None and name not in known:
                names = ", ".join(sorted(known))
                yield path, f"has {{{name}}}, which no intent has among its parameters; known are {names}"


def _texts(described: HttpFile) -> Iterator[tuple[KeyPath, str]]:
    yield ("url",), described.url
    for name, text in described.headers.items():
        yield ("headers", name), text
    yield from _texts_within(described.body, ("body",))


def _texts_within(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _texts_within(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _texts_within(inner, (*path, index))


def _known_fields(document: Document) -> set[str] | None:
    """Return the parameters of all intents, or None if one of them does not say which it has."""
    known = {"text"}
    intents = document.at(("intents",))
    for index in range(len(intents) if isinstance(intents, list) else 0):
        names = document.at(("intents", index, "parameters", "properties"))
        if names is ABSENT or not isinstance(names, dict):
            return None
        known |= names.keys()
    return known
