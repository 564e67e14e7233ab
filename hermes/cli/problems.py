"""Names files and what is wrong with them as their reader would."""

from __future__ import annotations

import os
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


def unreadable(error: OSError, path: Path) -> ConfigError:
    """Return the problem of what could not be read: the file that the system names, else `path`."""
    name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else str(path)
    return ConfigError(f"cannot be read: {error.strerror or error}", file=name)


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
