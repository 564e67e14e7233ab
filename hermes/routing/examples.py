"""Texts with the intent that each is for, as people label them; what is learned or measured from them is not decided here."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, Literal, get_args

from hermes.config.document import is_text
from hermes.errors import ConfigError, ConfigErrors
from hermes.routing.lexicon import IntentEntry
from hermes.values import value

Split = Literal["train", "validation", "test"]

OOS: Final = "oos"
"""The label of a text that is for no intent at all."""

MAX_BYTES: Final = 256 * 1024 * 1024
MAX_ROWS: Final = 1_000_000
MAX_TEXT: Final = 10_000  # characters
MAX_LABEL: Final = 200  # characters
_TOLD = 20  # problems of one file
_SHOWN = 40  # characters of a value

_REMEDY = 'write each row as {"text": "restart web", "intent": "service.restart"}'


@value
class Example:
    """A text and its label: the name of an intent, or OOS. Without a split it is for training."""

    text: str
    label: str
    split: Split | None = None


def read_examples(path: Path) -> list[Example]:
    """Return the rows of a file of JSON lines, in their order; raise ConfigError with every bad row, up to twenty.

    A row is `{"text", "intent" or "label", "split"?}`, other keys do not matter; a byte order mark, CRLF and blank
    lines are fine. A file has at most 256 MiB and a million rows, a text 10,000 characters; an empty file gives no
    rows.
    """
    rows: list[Example] = []
    problems: list[ConfigError] = []
    for number, line in _lines(path):
        try:
            rows.append(_example(line))
        except ConfigError as error:
            problems.append(ConfigError(error.detail, file=str(path), line=number))
        if len(problems) == _TOLD:
            break
        if len(rows) > MAX_ROWS:
            raise ConfigError(f"has more than {MAX_ROWS:,} rows; take fewer of them", file=str(path))
    if problems:
        raise ConfigErrors(problems)
    return rows


def examples_of(entries: Iterable[IntentEntry]) -> list[Example]:
    """Return the examples that the manifests of `entries` give, each once for its intent; none has a split."""
    found = (Example(text, entry.intent) for entry in entries for text in entry.examples if text.strip())
    return list(dict.fromkeys(found))


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the bytes of each line that is not blank."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            content = file.read(MAX_BYTES + 1) if size <= MAX_BYTES else b""
    except FileNotFoundError:
        raise ConfigError("there is no such file", file=str(path)) from None
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=str(path)) from None
    if max(size, len(content)) > MAX_BYTES:
        raise ConfigError(f"is larger than {MAX_BYTES >> 20} MiB; take fewer rows", file=str(path))
    # A line ends at \n alone: texts hold other signs that some call the end of a line.
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if line.strip():
            yield number, line


def _example(line: bytes) -> Example:
    row = _row(line)
    text = _text(row.get("text"))
    if "intent" in row and "label" in row and row["intent"] != row["label"]:
        raise ConfigError('"intent" and "label" differ; leave one of them out')
    return Example(text, _label(row.get("intent", row.get("label"))), _split(row.get("split")))


def _row(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line.decode())
    except UnicodeDecodeError:
        raise ConfigError("is not UTF-8 text; save the file as UTF-8") from None
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "it is not plain JSON"
        raise ConfigError(f"is not a line of JSON ({reason}); {_REMEDY}") from None
    if not isinstance(row, dict):
        raise ConfigError(f"is not an object; {_REMEDY}")
    return row


def _text(text: Any) -> str:
    if text is None:
        raise ConfigError(f'has no "text"; {_REMEDY}')
    if not isinstance(text, str) or not text.strip():
        raise ConfigError('"text" must be a text that is not empty; correct the row or leave it out')
    if len(text) > MAX_TEXT:
        raise ConfigError(f'"text" has more than {MAX_TEXT:,} characters; shorten it')
    if not is_text(text):
        raise ConfigError('"text" holds half of a character (\\ud800 to \\udfff); write the character itself')
    return text


def _label(label: Any) -> str:
    if label is None:
        raise ConfigError(f'has neither "intent" nor "label"; {_REMEDY}, or "{OOS}" if it is for none')
    if not isinstance(label, str) or not label.strip():
        raise ConfigError(f'"intent" must be the name of an intent, or "{OOS}"; it is {_shown(label)}')
    if len(label) > MAX_LABEL or label != label.strip() or not label.isprintable():
        wanted = f"a name of at most {MAX_LABEL} characters, without spaces around it and control characters"
        raise ConfigError(f'"intent" must be {wanted}')
    return label


def _split(split: Any) -> Split | None:
    if split is None:
        return None
    if split not in get_args(Split):
        known = ", ".join(get_args(Split))
        raise ConfigError(f'"split" must be one of {known}, or left out; it is {_shown(split)}')
    chosen: Split = split
    return chosen


def _shown(found: Any) -> str:
    written = json.dumps(found, ensure_ascii=False)
    return written if len(written) <= _SHOWN else written[: _SHOWN - 1] + "…"
