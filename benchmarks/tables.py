"""How measurements are printed: a table of figures under its method, and a table of aims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table


@dataclass(frozen=True, slots=True)
class Aim:
    """What is aimed at, as the least or (with `most`) the largest value that meets it."""

    what: str
    limit: float
    measured: float
    most: bool = False
    form: str = ".2f"

    @property
    def met(self) -> bool:
        return self.measured <= self.limit if self.most else self.measured >= self.limit


def figures(title: str, headings: Sequence[str], *, rows: Sequence[Sequence[str]], method: str) -> Table:
    """Return a table of figures, with its method below."""
    table = Table(title=title, caption=method, caption_justify="left")
    for heading in headings:
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(*row)
    return table


def aims(rows: Sequence[Aim], *, title: str = "Aims") -> Table:
    """Return a table that says which aims are met."""
    table = Table(title=title)
    for heading in ("what", "aim", "measured", "met"):
        table.add_column(heading)
    for one in rows:
        limit = f"{'≤' if one.most else '≥'} {one.limit:{one.form}}"
        table.add_row(one.what, limit, f"{one.measured:{one.form}}", "yes" if one.met else "NO")
    return table
