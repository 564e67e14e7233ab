"""Names files and what is wrong with them as their reader would."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hermes.cli.text import one_line
from hermes.errors import ConfigError


def shown(file: Path | str) -> str:
    """Return a file as its reader would name it: from the current folder if it lies below that."""
    path, here = Path(file), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def problem_line(problem: ConfigError, level: str = "") -> str:
    """Return a problem as `file:line: key: what is wrong` in one line; `level` stands before what is wrong."""
    file = None if problem.file is None else shown(problem.file)
    where = ":".join(str(part) for part in (file, problem.line) if part is not None)
    parts = (where, problem.key, level + problem.detail)
    return one_line(": ".join(part for part in parts if part))


def problem_objects(problems: Sequence[ConfigError]) -> list[dict[str, Any]]:
    """Return problems for scripts: file, line and key, each None if not known, and the detail."""
    return [
        {
            "file": None if one.file is None else shown(one.file),
            "line": one.line,
            "key": one.key,
            "detail": one.detail,
        }
        for one in problems
    ]
