"""`make bench`: measures each subject beside something bare in the same run, and prints the method and the aims."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from rich.console import Console

from benchmarks.subjects import (
    appends,
    executable,
    growth,
    learning,
    memory,
    plugins50,
    reload,
    restart,
    roundtrip,
    routing,
    sizes,
    stalls,
    throughput,
)

_SUBJECTS: dict[str, Callable[[Console, bool], None]] = {
    "throughput": throughput.measure,
    "sizes": sizes.measure,
    "appends": appends.measure,
    "growth": growth.measure,
    "restart": restart.measure,
    "memory": memory.measure,
    "roundtrip": roundtrip.measure,
    "routing": routing.measure,
    "learning": learning.measure,
    "reload": reload.measure,
    "plugins50": plugins50.measure,
    "executable": executable.measure,
    "stalls": stalls.measure,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("subjects", nargs="*", metavar="subject", help=", ".join(_SUBJECTS))
    parser.add_argument("--full", action="store_true", help="take as long as a sharp answer needs")
    chosen = parser.parse_args()
    unknown = [name for name in chosen.subjects if name not in _SUBJECTS]
    if unknown:
        parser.error(f"there is no subject {', '.join(unknown)}; there are {', '.join(_SUBJECTS)}")
    console = Console(width=160)
    for name in chosen.subjects or _SUBJECTS:
        started = time.perf_counter()
        _SUBJECTS[name](console, chosen.full)
        console.print(f"({name}: {time.perf_counter() - started:.0f} s)\n")


if __name__ == "__main__":
    main()
