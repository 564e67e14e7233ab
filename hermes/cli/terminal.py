"""Prints to the terminal, or into a file or pipe when there is none. Data is never taken for markup or control."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import click
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from hermes.cli.text import json_text, one_line, printable

NOTHING = "–"
_SHORT = 60  # characters
_GAP = "  "
_INDENT = "    "
_AND = " · "
_LISTED = ", "


def console(*, stderr: bool = False) -> Console:
    """Return a console for stdout or stderr that takes every text as it is."""
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    click.echo(json_text(value))


def print_text(text: str, *, stderr: bool = False) -> None:
    """Print text as it is, without control characters."""
    click.echo(printable(text), err=stderr)


def print_facts(facts: Mapping[str, Any]) -> None:
    """Print each fact after its name; one that is None is left out."""
    out = console()
    width = max(map(len, facts)) + 2
    for name, value in facts.items():
        if value is not None:
            text = printable(str(value)).replace("\n", "\n" + " " * width)
            out.print(Text.assemble((name.ljust(width), "bold"), text), soft_wrap=True)


def print_table(header: Sequence[str], rows: Sequence[Sequence[Any]], *, least: Sequence[str] = ()) -> None:
    """Print rows below a header, one line each, their columns aligned; whole numbers stand to the right.

    Lines are as long as they have to be: half an id is of no use, and a terminal can break a line itself. But on a
    terminal that is too narrow columns leave the table, in the order of `least`, for a line below each row.
    """
    out = console()
    width = out.width if out.is_terminal else None
    kept, folded = _fitting(header, rows, least=least, width=width)
    below = [[(header[number], row[number]) for number in folded] for row in rows]
    columns = [_aligned([header[number], *(row[number] for row in rows)]) for number in kept]
    for number, cells in enumerate(zip(*columns, strict=True)):
        out.print(Text(_GAP.join(cells).rstrip(), "" if number else "bold"), soft_wrap=True)
        if number and width is not None:
            for line in _folded(below[number - 1], width):
                out.print(Text(line, "dim"), soft_wrap=True)


def short(text: str) -> str:
    """Return the beginning of a text in one line."""
    line = one_line(text)
    return line if len(line) <= _SHORT else line[: _SHORT - 1] + "…"


def local_time(seconds: float | None) -> str | None:
    """Return Unix seconds as a date and time of this machine's zone."""
    return None if seconds is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def _aligned(column: Sequence[Any]) -> list[str]:
    """Return the cells of one column as texts that are equally wide on a terminal."""
    texts = [NOTHING if value is None or value == "" else one_line(str(value)) for value in column]
    width = max(map(cell_len, texts))
    if any(isinstance(value, int) for value in column):
        return [" " * (width - cell_len(text)) + text for text in texts]
    return [text + " " * (width - cell_len(text)) for text in texts]


def _fitting(
    header: Sequence[str], rows: Sequence[Sequence[Any]], *, least: Sequence[str], width: int | None
) -> tuple[list[int], list[int]]:
    """Return which columns stay in a table of at most `width`, and which do not."""
    widths = [cell_len(_aligned(column)[0]) for column in zip(header, *rows, strict=True)]
    kept = list(range(len(header)))
    for name in least:
        if width is None or sum(widths[number] + len(_GAP) for number in kept) - len(_GAP) <= width:
            break
        kept.remove(header.index(name))
    return kept, [number for number in range(len(header)) if number not in kept]


def _folded(cells: Sequence[tuple[str, Any]], width: int) -> list[str]:
    """Return the lines for what left a table, broken between two cells or in a long list; empty cells are left out."""
    width -= 1  # room for the comma at a break
    lines: list[str] = []
    for name, value in cells:
        if value is None or value == "":
            continue
        between, told = _AND, f"{name.lower()} {one_line(str(value))}"
        for part in [told] if cell_len(_INDENT + told) <= width else told.split(_LISTED):
            if lines and cell_len(lines[-1] + between + part) <= width:
                lines[-1] += between + part
            else:
                if between == _LISTED:
                    lines[-1] += between.rstrip()
                lines.append(_INDENT + part)
            between = _LISTED
    return lines
