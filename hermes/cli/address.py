"""Where the daemon of the current folder listens, by its ./hermes.yaml; nothing is checked, and nothing is called.

It reads that one key by itself: loading the whole configuration would take longer than most commands do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from hermes.values import value

DEFAULT_URL: Final = "http://127.0.0.1:8080"
_FILE: Final = Path("hermes.yaml")
_LARGEST = 1 << 20  # bytes of a file that is read for this
_place = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_bind = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:/\s]+)):([0-9]{1,5})").fullmatch
_EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - what is listened on, and where to call it


@value
class Address:
    """Where to call the daemon, and in words why there."""

    url: str
    origin: str


def configured_address(environ: Mapping[str, str]) -> Address:
    """Return what `hermes.bind` of ./hermes.yaml says, or the default if there is no such file or it says nothing.

    A file that cannot be understood gives the default too: whoever needs it right, `hermes run`, tells what is wrong.
    """
    try:
        content = _FILE.read_bytes()
    except FileNotFoundError:
        return Address(DEFAULT_URL, "the default, as there is no ./hermes.yaml")
    except OSError:
        return Address(DEFAULT_URL, "the default, as ./hermes.yaml cannot be read")
    try:
        bind = _bind_in(content)
        if bind is None:
            return Address(DEFAULT_URL, "the default, as ./hermes.yaml has no hermes.bind")
        url = _url(_place.sub(lambda found: environ[found[1]], bind))
    except (yaml.YAMLError, RecursionError, ValueError, KeyError, AttributeError):
        return Address(DEFAULT_URL, "the default, as hermes.bind of ./hermes.yaml cannot be understood")
    return Address(url, "hermes.bind of ./hermes.yaml")


def _bind_in(content: bytes) -> str | None:
    """Return `hermes.bind`, None if it is not there; raises YAMLError, RecursionError, ValueError, AttributeError."""
    if len(content) > _LARGEST:
        raise ValueError("the file is too large")
    # BaseLoader makes nothing but texts, lists and mappings.
    document: Any = yaml.load(content, Loader=yaml.BaseLoader)  # noqa: S506
    for name in ("hermes", "bind"):
        if not document:  # a key without a value is an empty text to BaseLoader
            return None
        document = document.get(name)
    if document is not None and not isinstance(document, str):
        raise ValueError("bind is no text")
    return document


def _url(bind: str) -> str:
    found = _bind(bind)
    if found is None or not 0 < int(found[3]) <= 65535:
        raise ValueError(f"{bind!r} names no address")
    host = f"[{found[1]}]" if found[1] else found[2]
    return f"http://{_EVERYWHERE.get(found[1] or found[2], host)}:{found[3]}"
