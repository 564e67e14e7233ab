"""Plugins that misbehave, each in a way of its own, and what keeps them at it for a while."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.load import Loading
from benchmarks.servers import Server, lay_plugin

_SHORT = 1  # seconds a call of the ones that do not end may take
_LONG = 120  # seconds
_RELOAD_EVERY = 1.0  # seconds
_FOR_EVER = 3600.0  # seconds; they are ended before

_HANDLERS = {
    "endless-loop": "    while True:\n        pass\n",
    "memory-bomb": '    kept = []\n    while True:\n        kept.append(b"x" * (8 << 20))\n',
    "progress-flood": (
        '    for number in range(200_000):\n        await context["progress"](f"line {number:6} of very many " * 3)\n'
        '    return {"data": None}\n'
    ),
    "huge-result": '    return {"data": "x" * 100_000_000}\n',
    "reload": '    return {"data": None}\n',
}
STORM = "process-storm"
_STORM_AT_ONCE = 8
NAMES = (*_HANDLERS, STORM)
"""What there is, by names that are those of the plugins."""


def lay(home: Path) -> None:
    """Write all of these plugins into a place."""
    for name, handler in _HANDLERS.items():
        timeout = _SHORT if name == "endless-loop" else _LONG
        code = f"async def handle(message, context):\n{handler}"
        lay_plugin(home, name, code=code, timeout=timeout, concurrency=1, limits={"memory_mb": 512})
    folder = lay_plugin(
        home, STORM, code="", runtime="executable", command=["./run.sh"], concurrency=_STORM_AT_ONCE
    )
    (folder / "plugin.py").unlink()
    (folder / "run.sh").write_text("#!/bin/sh\necho done\n")
    (folder / "run.sh").chmod(0o755)


@contextmanager
def made(server: Server, home: Path, *, names: Sequence[str]) -> Iterator[None]:
    """Keep these plugins at it: each is called again as soon as the call before has come to its end."""
    with ExitStack() as stack:
        for name in names:
            connections = _STORM_AT_ONCE if name == STORM else 1
            loading = Loading(server, intent=name, connections=connections, seconds=_FOR_EVER, warmup=0.0)
            stack.callback(loading.result, now=True)
            if name == "reload":
                stack.enter_context(_saved(home / "plugins" / name / "plugin.py"))
        yield


@contextmanager
def _saved(file: Path) -> Iterator[None]:
    """Change a file again and again."""
    ended, code = threading.Event(), file.read_text()

    def save() -> None:
        number = 0
        while not ended.wait(_RELOAD_EVERY):
            number += 1
            file.write_text(f"{code}\n# {number}\n")

    thread = threading.Thread(target=save)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
