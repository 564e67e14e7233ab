"""What the router learns from data sets, each learned and measured by the commands that a user has, beside the targets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from rich.console import Console

from benchmarks.tables import Aim, figures

_HERE = Path(__file__).resolve().parents[1]
_SAMPLES = _HERE / "samples"
_USUAL = _HERE.parents[1] / "shared" / "data" / "router"
_QUICK = ("clinc150", "banking77", "crosswoz_zh", "corefx_area", "xsid_en", "xsid_zh")
_AT_ONCE = 2  # that are learned; they are measured one by one
_SHORTEST = 4  # letters of a word that a slip is made in
_COLUMNS = (
    "accuracy",
    "answered_rate",
    "accuracy_answered",
    "oos_rejected",
    "auroc",
    "ece",
)


@dataclass(frozen=True, slots=True)
class _Target:
    """A figure that has to be reached, of a data set, as the least or (with `most`) the largest value."""

    data: str
    figure: str
    must: float
    aim: float
    most: bool = False


_TARGETS = (
    _Target("clinc150", "accuracy", 91.5, 92.5),
    _Target("clinc150", "auroc", 94.5, 96),
    _Target("clinc150", "oos_rejected", 94, 96),
    _Target("clinc150", "answered_rate", 80, 80),
    _Target("clinc150", "accuracy_answered", 96.5, 97.5),
    _Target("clinc150", "ece", 2, 1.2, most=True),
    _Target("banking77", "ece", 2, 1.2, most=True),
    _Target("crosswoz_zh", "ece", 2, 1.2, most=True),
    _Target("crosswoz_zh", "accuracy", 92, 93.3),
    _Target("crosswoz_zh", "answered_rate", 84, 87),
    _Target("crosswoz_zh", "accuracy_answered", 98, 98.5),
    _Target("corefx_area", "accuracy", 71, 74),
    _Target("clinc150", "with one typo", 82, 86),
    _Target("clinc150", "p50_us", 40, 20, most=True),
    _Target("clinc150", "p99_us", 90, 50, most=True),
    _Target("clinc150", "keywords_per_intent", 100, 100, most=True),
)


def measure(console: Console, full: bool) -> None:
    folder = _folder()
    files = [file for file in sorted(folder.glob("*.jsonl")) if full or file.stem in _QUICK]
    with TemporaryDirectory(prefix="hermes-bench-") as scratch:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            learned = list(pool.map(lambda file: _learned(file, Path(scratch)), files))
        measured = {
            file.stem: {**_measured(file, Path(scratch)), **told}
            for file, told in zip(files, learned, strict=True)
        }
    method = (
        f"{'All' if full else 'Some'} of the files of "
        f"{'the bundled sample' if folder.resolve() == _SAMPLES else folder.name}, each by `hermes router learn` and then "
        f"`hermes router eval --split test`, {_AT_ONCE} learned at once and measured one by one; 100 keywords an intent at "
        "most. In %, but for times: answered, right among answered and oos rejected at 0.8; ECE over 15 bins, with the "
        "rows out of scope that the file has mixed in. With one typo: in one word of each English text a letter is lost, "
        "doubled, swapped with the next or replaced."
    )
    headings = ["data", "rows learned", "s", *_COLUMNS, "with one typo", "p50 µs", "p99 µs", "keywords"]
    rows = [[name, *_cells(told)] for name, told in measured.items()]
    console.print(figures("Learned weights", headings, rows=rows, method=method))
    if folder.resolve() == _SAMPLES:
        console.print(
            "No targets for the bundled sample: set HERMES_ROUTER_DATA to a folder of whole data sets."
        )
        return
    table = [row for target in _TARGETS if (row := _row(target, measured.get(target.data, {})))]
    console.print(figures("Targets", ["what", "must", "aim", "measured", "met"], rows=table, method=""))


def _folder() -> Path:
    named = os.environ.get("HERMES_ROUTER_DATA")
    if named:
        return Path(named)
    return _USUAL if _USUAL.is_dir() else _SAMPLES


def _row(target: _Target, told: Mapping[str, Any]) -> list[str]:
    """Return a line on a target, empty if it was not measured."""
    found = told.get(target.figure)
    if found is None:
        return []
    share = not target.figure.endswith("_us") and target.figure != "keywords_per_intent"
    value = found * 100 if share else found
    must, aim = (Aim("", limit, value, most=target.most).met for limit in (target.must, target.aim))
    sign = "≤" if target.most else "≥"
    met = "yes" if aim else "must alone" if must else "NO"
    return [
        f"{target.data}: {target.figure}",
        f"{sign} {target.must:g}",
        f"{sign} {target.aim:g}",
        f"{value:.2f}",
        met,
    ]


def _learned(file: Path, scratch: Path) -> dict[str, Any]:
    began = perf_counter()
    told = _hermes(scratch, "learn", str(file.resolve()), "--out", f"{file.stem}.json", "--json")
    return {"rows": told["rows"], "seconds": perf_counter() - began}


def _measured(file: Path, scratch: Path) -> dict[str, Any]:
    """Return the figures of the weights for a file, and their accuracy where each text has a typo."""
    told = _eval(file.resolve(), scratch, weights=file.stem)
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
    tested = [row for row in rows if row.get("split") == "test"]
    if any(row["text"].isascii() for row in tested):
        chance = Random(1)
        slipped = [{**row, "text": _with_a_typo(row["text"], chance)} for row in tested]
        typos = scratch / f"{file.stem}-typos.jsonl"
        typos.write_text("\n".join(map(json.dumps, slipped)), "utf-8")
        told["with one typo"] = _eval(typos, scratch, weights=file.stem)["accuracy"]
    return told


def _eval(file: Path, scratch: Path, *, weights: str) -> dict[str, Any]:
    return _hermes(scratch, "eval", str(file), "--weights", f"{weights}.json", "--split", "test", "--json")


def _hermes(scratch: Path, *words: str) -> dict[str, Any]:
    """Run `hermes router …` in a folder without a configuration, and return what it tells."""
    environ = {**os.environ, "PYTHONPATH": str(_HERE.parent)}
    done = subprocess.run(
        [sys.executable, "-m", "hermes", "router", *words],
        cwd=scratch,
        env=environ,
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"hermes router {' '.join(words)}: {done.stderr.strip()}")
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def _with_a_typo(text: str, chance: Random) -> str:
    words = text.split(" ")
    places = [
        place
        for place, word in enumerate(words)
        if len(word) >= _SHORTEST and word.isalpha() and word.isascii()
    ]
    if not places:
        return text
    place = chance.choice(places)
    word = words[place]
    at = chance.randrange(len(word) - 1)
    words[place] = chance.choice(
        [
            word[:at] + word[at + 1 :],
            word[:at] + word[at] + word[at:],
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            word[:at] + chance.choice("abcdefghijklmnopqrstuvwxyz") + word[at + 1 :],
        ]
    )
    return " ".join(words)


def _cells(told: Mapping[str, Any]) -> Sequence[str]:
    shares = [_percent(told.get(column)) for column in (*_COLUMNS, "with one typo")]
    times = [f"{told[name]:.1f}" for name in ("p50_us", "p99_us")]
    return [
        f"{told['rows']:,}",
        f"{told['seconds']:.0f}",
        *shares,
        *times,
        f"{told['keywords_per_intent']:g}",
    ]


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share * 100:.1f}"
