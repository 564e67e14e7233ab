"""Turns a result into a short text: the chosen fields, cut to length, as words or as a Markdown table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_ROWS = 10
_CELL = 120  # characters of a value inside a list or a table
_DEPTH = 3


def digest(data: Any, *, fields: Sequence[str], max_chars: int, locale: str) -> str:
    """Return `data` as Markdown of at most `max_chars` characters.

    `fields` are the top-level keys to show, all if empty; `locale` is the language of the words around the values.
    """
    if fields and isinstance(data, Mapping):
        data = {name: data[name] for name in fields if name in data}
    return _cut(_render(data, locale), max_chars)


def error_digest(code: str, message: str) -> str:
    """Return a failure as one line."""
    return f"`{code}` {message}"


def _render(data: Any, locale: str) -> str:
    if isinstance(data, Mapping):
        return "\n".join(_entry(str(name), value, locale=locale) for name, value in data.items()).rstrip("\n")
    if _is_table(data):
        return _table(data, locale)
    if isinstance(data, list):
        lines = [f"- {_plain(item, 1)}" for item in data[:_ROWS]]
        return "\n".join([*lines, *_more(len(data), locale)])
    return data if isinstance(data, str) else _plain(data, 0)


def _entry(name: str, value: Any, *, locale: str) -> str:
    if _is_table(value):
        return f"**{name}**\n\n{_table(value, locale)}\n"  # an empty line ends a table
    return f"**{name}**: {_plain(value, 0)}"


def _is_table(data: Any) -> bool:
    return isinstance(data, list) and bool(data) and all(isinstance(row, Mapping) and row for row in data)


def _table(rows: Sequence[Mapping[str, Any]], locale: str) -> str:
    columns = list(dict.fromkeys(name for row in rows[:_ROWS] for name in row))
    lines = [_row([_cell(name) for name in columns]), _row(["---"] * len(columns))]
    lines += [_row([_cell(row[name]) if name in row else "" for name in columns]) for row in rows[:_ROWS]]
    return "\n".join([*lines, *_more(len(rows), locale)])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(value: Any) -> str:
    return _plain(value, 1).replace("|", "\\|").replace("\n", " ")


def _more(count: int, locale: str) -> list[str]:
    if count <= _ROWS:
        return []
    rest = count - _ROWS
    return ["", f"… 还有 {rest} 行" if locale == "zh" else f"… {rest} more"]


def _plain(value: Any, depth: int) -> str:
    if isinstance(value, str):
        return _cut(value, _CELL) if depth else value
    if value is None or isinstance(value, bool):
        return {None: "–", True: "true", False: "false"}[value]
    if not isinstance(value, Mapping | list):
        return str(value)
    if depth >= _DEPTH:
        return "…"
    if isinstance(value, Mapping):
        parts = [f"{name}: {_plain(item, depth + 1)}" for name, item in list(value.items())[:_ROWS]]
    else:
        parts = [_plain(item, depth + 1) for item in value[:_ROWS]]
    return ", ".join([*parts, *(["…"] if len(value) > _ROWS else [])])


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
