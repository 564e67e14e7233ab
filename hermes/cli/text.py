"""Makes text from elsewhere safe to print: a result must not be able to move the cursor or change the terminal."""

from __future__ import annotations

import json
import re
from typing import Any

# Colours and other sequences of a terminal, then what is left of control characters, halves of characters, and the
# marks that turn the direction of writing and so can make a line look like another one.
_UNPRINTABLE = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff"
_unwanted = re.compile(rf"\x1b\[[0-?]*[ -/]*[@-~]|[{_UNPRINTABLE}]")
_unprintable = re.compile(f"[{_UNPRINTABLE}]")
_space = re.compile(r"\s+")


def printable(text: str) -> str:
    """Return `text` without control characters other than newline and tab."""
    return _unwanted.sub("", text)


def one_line(text: str) -> str:
    """Return `text` printable and in one line."""
    return _space.sub(" ", printable(text)).strip()


def json_text(value: Any) -> str:
    """Return `value` as indented JSON that can be printed; nothing is lost, what could do harm is escaped."""
    written = json.dumps(value, ensure_ascii=False, indent=2)
    return _unprintable.sub(lambda found: f"\\u{ord(found[0]):04x}", written)
