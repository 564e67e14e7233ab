"""`hermes router learn`: learn weights from labelled texts and from the examples of manifests."""

from __future__ import annotations

import os
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from hermes.cli.options import config_option, json_option
from hermes.cli.problems import problem_line, shown
from hermes.cli.router.surroundings import Surroundings, look_around
from hermes.cli.terminal import print_json, print_text, short
from hermes.errors import ConfigError
from hermes.routing.examples import Example, examples_of, read_examples
from hermes.routing.learning.train import learn
from hermes.routing.weights import Weights, write_weights

_FEW = 30  # examples: with fewer, hand-written keywords still tell more
_NAMED = 5  # intents


@click.command("learn")
@click.argument("files", metavar="FILE...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Where to; by router.weights if not given.")
@click.option(
    "--keywords",
    type=click.IntRange(1, 10_000),
    default=100,
    show_default=True,
    help="Most for each intent.",
)
@config_option
@json_option
def command(
    files: Sequence[Path], *, out: Path | None, keywords: int, config: Path | None, as_json: bool
) -> None:
    """Learn which words speak for which intent, from lines like {"text": "restart web", "intent": "service.restart"}.

    The examples of the manifests are learned too, unless the rows are for other intents altogether; without FILE they
    alone. "oos" is the label of what is for no intent; rows of the split test are not learned, those for validation
    only serve to check confidence. A daemon that uses the file takes the new one in by itself.
    """
    began = time.monotonic()
    around = look_around(config, os.environ)
    for problem in around.problems:
        print_text(problem_line(problem, "not learned: "), stderr=True)
    place = out or around.weights
    _check_place(place)  # before the minutes that learning may take
    rows = [example for file in files for example in read_examples(file)]
    rows += _of_manifests(rows, around, alone=not files)
    if sys.stderr.isatty():
        print_text(f"learning from {len(rows):,} rows; many take some minutes", stderr=True)
    weights = _learned(rows, files, keywords=keywords)
    try:
        write_weights(weights, place)
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}", file=str(place)) from None
    told = _told(weights, place, rows=rows, seconds=time.monotonic() - began)
    if as_json:
        print_json(told)
    else:
        _print(told)


def _check_place(place: Path) -> None:
    """Raise ConfigError if it is certain that no file can be written there."""
    if place.is_dir():
        raise ConfigError("is a folder; name a file", file=str(place))
    if not place.parent.is_dir():
        raise ConfigError(f"cannot be written: there is no folder {shown(place.parent)}", file=str(place))
    if not os.access(place.parent, os.W_OK):
        raise ConfigError("cannot be written: the folder is not yours to write to", file=str(place))


def _of_manifests(rows: Sequence[Example], around: Surroundings, *, alone: bool) -> list[Example]:
    """Return the examples of manifests that are to be learned with `rows`, and are not among them."""
    if not alone and around.intents.isdisjoint(one.label for one in rows):
        return []
    known = {(one.text, one.label) for one in rows}
    return [one for one in examples_of(around.entries) if (one.text, one.label) not in known]


def _learned(rows: Sequence[Example], files: Sequence[Path], *, keywords: int) -> Weights:
    if not files and not rows:
        raise click.UsageError("name a FILE of rows; no manifest here has examples to learn from")
    try:
        return learn(rows, keywords=keywords)
    except ConfigError as error:
        named = str(files[0]) if len(files) == 1 else None
        raise ConfigError(error.detail, file=error.file or named, line=error.line, key=error.key) from None


def _told(weights: Weights, place: Path, *, rows: Sequence[Example], seconds: float) -> dict[str, Any]:
    counts = {name: one.examples for name, one in weights.intents.items()}
    return {
        "file": shown(place),
        "intents": len(weights.intents),
        "rows": weights.rows,
        "strangers": weights.strangers,
        "keywords": sum(len(one.keywords) for one in weights.intents.values()),
        "seconds": round(seconds, 1),
        "few_examples": sorted(
            (name for name, count in counts.items() if count < _FEW),
            key=lambda name: (counts[name], name),
        ),
        "contradictions": _contradictions(rows),
    }


def _contradictions(rows: Sequence[Example]) -> list[dict[str, Any]]:
    """Return the texts that are labelled in several ways."""
    labels: dict[str, set[str]] = defaultdict(set)
    for one in rows:
        labels[one.text].add(one.label)
    return [{"text": text, "labels": sorted(found)} for text, found in labels.items() if len(found) > 1]


def _print(told: dict[str, Any]) -> None:
    for one in told["contradictions"][:_NAMED]:
        print_text(f"labelled in several ways, {', '.join(one['labels'])}: {short(one['text'])}")
    _more(told["contradictions"], "more texts are labelled in several ways")
    print_text(
        f"learned {told['intents']} intents from {told['rows']} rows, {told['strangers']} of them for none: "
        f"{told['keywords']} keywords, {told['seconds']} s"
    )
    few = told["few_examples"]
    if few:
        print_text(f"under {_FEW} examples, so keep their hand-written keywords: {', '.join(few[:_NAMED])}")
        _more(few, "more intents have few examples")
    print_text(f"wrote {told['file']}")


def _more(found: Sequence[Any], what: str) -> None:
    if len(found) > _NAMED:
        print_text(f"{len(found) - _NAMED} {what}; --json names all")
