"""The specimen of runtime `executable`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.support.specimens.base import FAULT, LARGE, Specimen

_SCRIPT = f"""#!/bin/sh
text=$(sed -n 's/.*"text":"\\([^"]*\\)".*/\\1/p')
case $text in
    fail) echo '{FAULT}' >&2; exit 1 ;;
    large) head -c {LARGE} /dev/zero | tr '\\0' x; exit 0 ;;
esac
echo '::progress 40:: 正在看' >&2
[ "$text" != wait ] || exec sleep 600
printf '{{"data": "%s"}}' "$text"
"""


@asynccontextmanager
async def specimen() -> AsyncIterator[Specimen]:
    """Give a script."""
    yield Specimen({"runtime": "executable", "command": ["./run.sh"]}, {"run.sh": _SCRIPT})
