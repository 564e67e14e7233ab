"""The first words of a daemon to the person who started it: where it listens, and a line to try it with."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from hermes import __version__

_GREETING = """\
Hermes {version} listens on {where}
Try it from another terminal:

  curl -s '{url}/v1/messages?wait=5' -H 'Content-Type: application/json'{key} -d '{body}'
"""
_FIRST_CHOICE = "system.status"


def greeting(where: str, url: str, *, key_file: Path | None, examples: Iterable[tuple[str, str]]) -> str:
    """Return the words; `examples` are intents, each with a text that is meant for it."""
    key = f" -H \"Authorization: Bearer $(cat '{key_file}')\"" if key_file is not None else ""
    known = sorted(examples, key=lambda one: (one[0] != _FIRST_CHOICE, one[0]))
    text = known[0][1] if known else "hello"
    body = json.dumps({"text": text}, ensure_ascii=False).replace("'", "\\u0027")
    return _GREETING.format(version=__version__, where=where, url=url, key=key, body=body)
