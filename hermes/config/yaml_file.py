"""Reads a YAML file into a Document: plain data with line numbers, without tags, and bounded in size.

Unquoted words mean what they mean in JSON: true, false, null and numbers; everything else is text. So `on`,
`yes`, `1:30` and `0600` stay the text that was written.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import yaml

from hermes.config.document import Document, KeyPath, dotted, is_text, read_text
from hermes.errors import ConfigError

MAX_VALUES: Final = 100_000
_WORDS: Final = {"": None, "~": None, "null": None, "true": True, "false": False}
_TAGS: Final = {
    yaml.ScalarNode: "tag:yaml.org,2002:str",
    yaml.SequenceNode: "tag:yaml.org,2002:seq",
    yaml.MappingNode: "tag:yaml.org,2002:map",
}
_integer = re.compile(r"-?(?:0|[1-9][0-9]{0,17})").fullmatch
_number = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,40})?(?:[eE][+-]?[0-9]{1,2})?").fullmatch


def read_yaml(path: Path) -> Document:
    """Read the file; raise ConfigError if it cannot be read at all, leave smaller faults in `problems`."""
    text = read_text(path)
    try:
        node = yaml.compose(text, Loader=_PlainLoader)
        return _Reader(str(path)).document(node)
    except yaml.reader.ReaderError as error:
        control = text.count("\n", 0, error.position) + 1
        raise ConfigError("holds a control character; remove it", file=str(path), line=control) from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        what = ", ".join(part for part in (error.context, error.problem) if part)
        raise ConfigError(f"is not valid YAML: {what}", file=str(path), line=line) from None
    except RecursionError:
        raise ConfigError("is nested too deeply", file=str(path)) from None


def plain_value(text: str) -> Any:
    """Return what an unquoted word means: null, a boolean, a number, or the word itself."""
    if text in _WORDS:
        return _WORDS[text]
    if _integer(text):
        return int(text)
    return float(text) if _number(text) else text


class _PlainLoader(yaml.SafeLoader):
    """Composes nodes without guessing at the meaning of words."""

    yaml_implicit_resolvers: Any = {}  # noqa: RUF012 - the base class asks for a dict here; nothing writes to it


class _Reader:
    """Turns the nodes of one file into plain values and remembers where they stood."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._lines: dict[KeyPath, int] = {(): 1}
        self._problems: list[ConfigError] = []
        self._count = 0

    def document(self, node: yaml.Node | None) -> Document:
        data = None if node is None else self._value(node, ())
        return Document(self._file, data, self._lines, tuple(self._problems))

    def _value(self, node: yaml.Node, path: KeyPath) -> Any:
        self._count += 1
        if self._count > MAX_VALUES:
            raise ConfigError(f"has more than {MAX_VALUES} values; aliases count each time", file=self._file)
        if node.tag != _TAGS[type(node)]:
            self._wrong(path, f"the tag {node.tag} is not allowed; write plain YAML", at=node)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self._item(item, (*path, index)) for index, item in enumerate(node.value)]
        if not is_text(node.value):
            self._wrong(path, "holds half of a character; write the character itself", at=node)
            return ""
        return node.value if getattr(node, "style", None) else plain_value(node.value)

    def _item(self, node: yaml.Node, path: KeyPath) -> Any:
        self._lines[path] = node.start_mark.line + 1
        return self._value(node, path)

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._wrong(path, "a key must be a single word", at=key)
            elif not is_text(key.value):
                self._wrong(path, "a key holds half of a character; write the character itself", at=key)
            elif key.value == "<<":
                self._wrong(path, "merge keys (<<) are not allowed; write the keys out", at=key)
            elif key.value in values:
                first = self._lines[(*path, key.value)]
                self._wrong(
                    (*path, key.value), f"is there twice; the first is in line {first}, remove one", at=key
                )
            else:
                self._lines[(*path, key.value)] = key.start_mark.line + 1
                values[key.value] = self._value(value, (*path, key.value))
        return values

    def _wrong(self, path: KeyPath, detail: str, *, at: yaml.Node) -> None:
        line = at.start_mark.line + 1
        self._problems.append(ConfigError(detail, file=self._file, line=line, key=dotted(path) or None))
