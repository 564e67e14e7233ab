"""Fills `${NAME}` and `${file:/path}` in the text of a Document; it does not look at what the values are for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hermes.config.document import Document, KeyPath, Substituted, is_text, read_text
from hermes.errors import ConfigError

_place = re.compile(r"\$\$\{|\$\{([^}]*)(\}?)")
_is_name = re.compile(r"[A-Za-z_][A-Za-z0-9_]*").fullmatch


def substitute(document: Document, environ: Mapping[str, str], *, base_dir: Path) -> Document:
    """Return the document with every place filled; what cannot be filled is added to its `problems`.

    `$${` becomes `${`. Relative files are looked for in `base_dir`, and lose the newlines at their end. Text that
    was filled in is not searched again, and is marked as Substituted.
    """
    filling = _Filling(document, environ, base_dir=base_dir)
    data = filling.value(document.data, ())
    return replace(document, data=data, problems=(*document.problems, *filling.problems))


class _Filling:
    """One walk over one document."""

    def __init__(self, document: Document, environ: Mapping[str, str], *, base_dir: Path) -> None:
        self.problems: list[ConfigError] = []
        self._document = document
        self._environ = environ
        self._base_dir = base_dir

    def value(self, value: Any, path: KeyPath) -> Any:
        if isinstance(value, dict):
            return {key: self.value(inner, (*path, key)) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.value(inner, (*path, index)) for index, inner in enumerate(value)]
        return self._text(value, path) if isinstance(value, str) and "${" in value else value

    def _text(self, text: str, path: KeyPath) -> str:
        try:
            filled = _place.sub(self._filled, text)
        except ConfigError as error:
            self.problems.append(self._document.problem(path, error.detail))
            return text
        return Substituted(filled)

    def _filled(self, found: re.Match[str]) -> str:
        name = found[1]
        if name is None:
            return "${"
        if not found[2]:
            raise ConfigError("has a ${ without its }; write $${ for a plain ${")
        if name.startswith("file:"):
            return self._file(name.removeprefix("file:"))
        if not _is_name(name):
            raise ConfigError(
                f"${{{name}}} is neither ${{NAME}} nor ${{file:/path}}; write $${{ for a plain ${{"
            )
        if name not in self._environ:
            raise ConfigError(f"the environment variable {name} is not set; set it or remove this key")
        value = self._environ[name]
        if not is_text(value):
            raise ConfigError(f"the environment variable {name} is not UTF-8 text")
        return value

    def _file(self, name: str) -> str:
        try:
            return read_text(self._base_dir / name).rstrip("\r\n")
        except ConfigError as error:
            raise ConfigError(f"the file {name}: {error.detail}") from None
