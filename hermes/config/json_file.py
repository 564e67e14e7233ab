"""Reads a JSON file into a Document: plain data with line numbers; comments and other extensions are refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NoReturn

from hermes.config.document import Document, KeyPath, dotted, is_text, read_text
from hermes.errors import ConfigError

_STRING = r'"(?:[^"\\]|\\.)*"'
_token = re.compile(rf'({_STRING})\s*:|({_STRING}|[{{\[]|[^\s{{}}\[\],:"]+)|([}}\],])')


def read_json(path: Path) -> Document:
    """Read the file; raise ConfigError if it is not JSON, leave keys that are there twice in `problems`."""
    text = read_text(path)
    try:
        data = json.loads(text, parse_constant=_refuse_constant)
        lines, again = _lines(text)
    except json.JSONDecodeError as error:
        reason = error.msg + _remedy(text, error.pos)
        raise ConfigError(f"is not valid JSON: {reason}", file=str(path), line=error.lineno) from None
    except ConfigError as error:
        raise ConfigError(error.detail, file=str(path)) from None
    except RecursionError:
        raise ConfigError("is nested too deeply", file=str(path)) from None
    except ValueError:  # Python reads no number of thousands of digits
        raise ConfigError("holds a number with too many digits", file=str(path)) from None
    if not is_text(json.dumps(data, ensure_ascii=False)):
        raise ConfigError(
            "holds half of a character (\\ud800 to \\udfff without its partner)", file=str(path)
        )
    twice = (
        ConfigError(
            f"is there twice; the first is in line {lines[where]}, remove one",
            file=str(path),
            line=line,
            key=dotted(where),
        )
        for where, line in again.items()
    )
    return Document(str(path), data, lines, tuple(twice))


def _remedy(text: str, position: int) -> str:
    """Return what to do about a slip that people make; nothing is known about others."""
    here, before = text[position : position + 1], text[:position].rstrip()[-1:]
    if not text.strip():
        return "; the file is empty"
    if before == "," and here in {"}", "]"}:
        return f"; remove the comma before the {here}"
    if here == "'":
        return "; write texts in double quotes"
    return "; remove the comments, JSON has none" if here in {"/", "#"} else ""


def _refuse_constant(name: str) -> NoReturn:
    raise ConfigError(f"is not valid JSON: {name} is not a number of JSON")


def _lines(text: str) -> tuple[dict[KeyPath, int], dict[KeyPath, int]]:
    """Return the line of every key and list item of valid JSON, and the keys that came again."""
    lines: dict[KeyPath, int] = {(): 1}
    again: dict[KeyPath, int] = {}
    here: list[str | int] = []  # one part for each open object (its latest key) and list (its latest index)
    line, position = 1, 0
    for found in _token.finditer(text):
        line, position = line + text.count("\n", position, found.start()), found.start()
        key, value, end = found.groups()
        if key:
            here[-1] = json.loads(key)
            if tuple(here) in lines and not any(tuple(here[:depth]) in again for depth in range(len(here))):
                again[tuple(here)] = line
            lines.setdefault(tuple(here), line)
        elif value:
            lines.setdefault(tuple(here), line)
            if value in "{[":
                here.append("" if value == "{" else 0)
        elif end != ",":
            here.pop()
        elif isinstance(here[-1], int):
            here[-1] += 1
    return lines, again
