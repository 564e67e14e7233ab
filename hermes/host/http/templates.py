"""Texts with places in them: `{name}` for a member of a payload, `${NAME}` for a variable. Where they go is not known here."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

FIELD: Final = r"[^\W\d][\w-]*"
_place = re.compile(rf"\$\{{([A-Za-z_][A-Za-z0-9_]*)\}}|\{{\{{({FIELD})\}}\}}|\{{({FIELD})\}}")

Encode = Callable[[str], str]


class Absent(Exception):
    """A place stands for a member that the payload does not have, or that is null; `field` names it."""

    def __init__(self, field: str) -> None:
        super().__init__(field)
        self.field = field


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a template: plain text, the name of a member, or the name of a variable."""

    kind: Literal["text", "field", "variable"]
    text: str


class Template:
    """A text with places. `{{name}}` is a plain `{name}`."""

    def __init__(self, text: str) -> None:
        self.pieces = tuple(_pieces(text))
        self.fields = tuple(piece.text for piece in self.pieces if piece.kind == "field")
        self.variables = tuple(piece.text for piece in self.pieces if piece.kind == "variable")

    @property
    def whole(self) -> str | None:
        """The member that the text is nothing but a place for, or None."""
        return self.pieces[0].text if len(self.pieces) == len(self.fields) == 1 else None

    def bind(self, variables: Mapping[str, str], *, encode: Encode = str, literal: Encode = str) -> Template:
        """Return the template with its variables in their places, each as `encode` gives it, and its text as `literal`.

        Raises KeyError for a variable that there is not.
        """
        bound = Template("")
        bound.fields = self.fields
        bound.pieces = tuple(
            piece
            if piece.kind == "field"
            else Piece(
                "text", encode(variables[piece.text]) if piece.kind == "variable" else literal(piece.text)
            )
            for piece in self.pieces
        )
        return bound

    def fill(self, payload: Mapping[str, Any], *, encode: Encode = str) -> str:
        """Return the text with the members of a payload in their places, each as `encode` gives it; raises Absent."""
        return "".join(
            encode(as_text(member(payload, piece.text))) if piece.kind == "field" else piece.text
            for piece in self.pieces
        )


def member(payload: Mapping[str, Any], name: str) -> Any:
    """Return a member of a payload; raises Absent if it is not there or null."""
    value = payload.get(name)
    if value is None:
        raise Absent(name)
    return value


def as_text(value: Any) -> str:
    """Return a value as it stands within a text: what is no text itself is written as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _pieces(text: str) -> Iterator[Piece]:
    end = 0
    for found in _place.finditer(text):
        variable, literal, field = found.groups()
        if before := text[end : found.start()]:
            yield Piece("text", before)
        if literal:
            yield Piece("text", f"{{{literal}}}")
        else:
            yield Piece("variable", variable) if variable else Piece("field", field)
        end = found.end()
    if rest := text[end:]:
        yield Piece("text", rest)
