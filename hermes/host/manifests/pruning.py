"""Goes on with what is right of a document after something in it was found wrong, so that nothing hides behind it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel

from hermes.config.document import ABSENT, Document, KeyPath, dotted
from hermes.config.validation import validate
from hermes.errors import ConfigError

Checked = TypeVar("Checked", bound=BaseModel)
Fill = Callable[[dict[str, Any]], None]
_ROUNDS = 20  # one shows what a value hides that is right by itself; more than a few are no manifest that people write


def prune(
    model: type[Checked], document: Document, *, fill: Fill | None = None
) -> tuple[Checked | None, list[ConfigError]]:
    """Return what is right of `document` as `model`, or None if too little is, and everything that is wrong.

    `fill` puts something in the place of what the model cannot do without. What the document says of itself in
    `problems` is not told again.
    """
    found: list[ConfigError] = []
    document = replace(document, data=copy.deepcopy(document.data), problems=())
    for _ in range(_ROUNDS):
        try:
            return validate(model, document), found
        except ConfigError as error:
            new = [one for one in error.problems if not is_below(one.key, found)]
            found += new
            if not _cut(document, new, fill=fill):
                break
    return None, found


def is_below(key: str | None, problems: list[ConfigError]) -> bool:
    """Say whether `key` is that of one of `problems`, or of a part of it: what is wrong there need not be told twice."""
    return any(
        one.key is None or one.key == key or (key or "").startswith((f"{one.key}.", f"{one.key}["))
        for one in problems
    )


def _cut(document: Document, problems: list[ConfigError], *, fill: Fill | None) -> bool:
    """Take out what is wrong; say whether anything is different now."""
    before = copy.deepcopy(document.data)
    paths = {dotted(path): path for path in document.lines}
    lists = [_remove(document, paths.get(one.key or "", ())) for one in problems]
    if fill is not None:
        fill(document.data)
    for values in lists:
        values[:] = [value for value in values if value is not None]
    return bool(document.data != before)


def _remove(document: Document, path: KeyPath) -> list[Any]:
    """Take out the value at `path`, and return the list it was in: there it is null, as the others keep their places."""
    parent = document.at(path[:-1]) if path else None
    if isinstance(parent, dict):
        parent.pop(path[-1], None)
    elif isinstance(parent, list) and document.at(path) is not ABSENT:
        parent[int(path[-1])] = None
        return parent
    return []
