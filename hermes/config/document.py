"""A parsed configuration file that still knows the line of every value; reading and meaning are elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from hermes.errors import ConfigError, ConfigErrors

KeyPath = tuple[str | int, ...]
ABSENT: Final = object()


class Substituted(str):
    """Text that came from the environment or a file: it may be a secret and is never shown."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Document:
    """The values of one file, the line of each, and what was wrong with the file while it was read.

    `lines` counts from 1 and is keyed by the way to a value: `("router", "strategies", 0)`.
    """

    file: str | None = None
    data: Any = None
    lines: Mapping[KeyPath, int] = field(default_factory=dict)
    problems: tuple[ConfigError, ...] = ()

    def problem(self, path: KeyPath, detail: str) -> ConfigError:
        """Return the error that `detail` is wrong at `path`, with the line of the nearest value that has one."""
        lines = (self.lines.get(path[:depth]) for depth in range(len(path), -1, -1))
        line = next((line for line in lines if line is not None), None)
        return ConfigError(detail, file=self.file, line=line, key=dotted(path) or None)

    def at(self, path: KeyPath) -> Any:
        """Return the value that the file has at `path`, or ABSENT."""
        value = self.data
        for part in path:
            try:
                value = value[part]
            except (KeyError, IndexError, TypeError):
                return ABSENT
        return value

    def refuse(self, *more: ConfigError) -> None:
        """Raise ConfigErrors with the problems of the reading and `more`, unless there are none."""
        problems = sorted((*self.problems, *more), key=lambda problem: problem.line or 0)
        if problems:
            raise ConfigErrors(problems)


def dotted(path: KeyPath) -> str:
    """Write a path as a person would: `router.strategies[0]`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def is_text(value: str) -> bool:
    """Say whether `value` can be written as UTF-8: escapes and the environment may hold halves of characters."""
    return value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value)


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file without its byte order mark; raise ConfigError if there is none."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise ConfigError("there is no such file", file=str(path)) from None
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=str(path)) from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError("is not UTF-8 text; save it as UTF-8", file=str(path), line=line) from None
