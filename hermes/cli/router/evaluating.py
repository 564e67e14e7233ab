"""`hermes router eval`: measure on labelled texts how well they are routed."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from hermes.cli.options import config_option, json_option
from hermes.cli.problems import problem_line
from hermes.cli.router.subject import Subject, subject_of
from hermes.cli.router.surroundings import look_around
from hermes.cli.terminal import print_facts, print_json, print_table, print_text, short
from hermes.errors import ConfigError
from hermes.routing.decision import Thresholds, thresholds_of
from hermes.routing.evaluation import Point, Report, evaluate
from hermes.routing.examples import OOS, Example, read_examples

_SHOWN = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)  # thresholds of the curve
_NAMED = 5  # intents


@click.command("eval")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--weights", type=click.Path(path_type=Path), help="Measure these weights alone, without plugins."
)
@click.option(
    "--split", type=click.Choice(["train", "validation", "test"]), help="Only the rows of this split."
)
@config_option
@json_option
def command(
    file: Path, *, weights: Path | None, split: str | None, config: Path | None, as_json: bool
) -> None:
    """Say how many of the labelled texts in FILE are routed to their intent, and how far confidence can be trusted.

    Without --weights the router of the configuration is measured: the keywords of its plugins, and its weights if it has
    any. Rows for intents that it does not have are out of scope, like those labelled "oos".
    """
    around = look_around(config, os.environ)
    thresholds = thresholds_of(around.config)
    rows = _rows(file, split)
    subject = subject_of(around, weights, thresholds=thresholds)
    if weights is None:
        for problem in around.problems:
            print_text(problem_line(problem, "left out: "), stderr=True)
    unknown = Counter(one.label for one in rows if one.label not in {OOS, *subject.keywords})
    _warn(rows, unknown, split=split)
    report = evaluate(subject.route, rows, thresholds=thresholds, intents=subject.keywords)
    if as_json:
        print_json(_document(report, subject, unknown=sorted(unknown)))
    else:
        _print(report, subject, thresholds=thresholds)


def _rows(file: Path, split: str | None) -> list[Example]:
    rows = read_examples(file)
    chosen = [one for one in rows if split is None or (one.split or "train") == split]
    if rows and not chosen:
        known = ", ".join(sorted({one.split or "train" for one in rows}))
        raise ConfigError(f"has no row of the split {split}; the splits of its rows: {known}", file=str(file))
    if not chosen:
        raise ConfigError('has no row; write rows like {"text", "intent", "split"}', file=str(file))
    return chosen


def _warn(rows: Sequence[Example], unknown: Counter[str], *, split: str | None) -> None:
    """Tell what makes figures mean something else than they seem to."""
    if unknown:
        named = ", ".join(name for name, _ in unknown.most_common(_NAMED))
        more = f" and {len(unknown) - _NAMED} more" if len(unknown) > _NAMED else ""
        told = f"warning: {unknown.total()} rows are for intents that this router does not have, so out of scope: {named}{more}"
        print_text(told, stderr=True)
    if split is None and len({one.split for one in rows}) > 1:
        taught = sum(one.split in {None, "train"} for one in rows)
        told = f"warning: {taught} of {len(rows)} rows are for training; if they were learned, this is no measure: --split test"
        print_text(told, stderr=True)


def _document(report: Report, subject: Subject, *, unknown: Sequence[str]) -> dict[str, Any]:
    return {
        "measured": subject.name,
        "texts": report.in_scope + report.oos,
        "oos": report.oos,
        "unknown_intents": unknown,
        "unmatched": report.unmatched,
        "accuracy": _rounded(report.accuracy),
        **_figures(report.at),
        "auroc": _rounded(report.auroc),
        "ece": _rounded(report.ece),
        "keywords_per_intent": subject.keywords_per_intent,
        "p50_us": round(report.p50_us, 1),
        "p99_us": round(report.p99_us, 1),
        "curve": [{"threshold": one.threshold, **_figures(one)} for one in report.curve],
        "confusions": [
            {
                "label": one.label,
                "taken_for": one.taken_for,
                "rows": one.rows,
                "answered": one.answered,
                "text": one.text,
            }
            for one in report.confusions
        ],
        "suggested": {
            "min_confidence": report.suggestion.min_confidence,
            "clarify_threshold": report.suggestion.clarify_threshold,
            "caution": report.suggestion.caution or None,
        },
    }


def _figures(point: Point) -> dict[str, float | None]:
    return {
        "answered_rate": _rounded(point.answered_rate),
        "accuracy_answered": _rounded(point.accuracy_answered),
        "oos_rejected": _rounded(point.oos_rejected),
    }


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 4)


def _print(report: Report, subject: Subject, *, thresholds: Thresholds) -> None:
    print_facts(
        {
            "measured": subject.name,
            "texts": f"{report.in_scope + report.oos}, {report.oos} of them out of scope",
            "accuracy": _percent(report.accuracy),
            f"answered at {thresholds.clarify_threshold:g}": _percent(report.at.answered_rate),
            "right among answered": _percent(report.at.accuracy_answered),
            "out of scope refused": _percent(report.at.oos_rejected),
            "AUROC": _percent(report.auroc),
            "calibration error": _percent(report.ece),
            "keywords an intent": f"{subject.keywords_per_intent:g}",
            "a decision": f"{report.p50_us:.1f} µs p50, {report.p99_us:.1f} µs p99",
        }
    )
    print_text("")
    rows = [
        (f"{one.threshold:g}", *(_percent(share) for share in _figures(one).values()))
        for one in report.curve
        if one.threshold in _SHOWN
    ]
    print_table(("THRESHOLD", "ANSWERED", "RIGHT", "OUT OF SCOPE REFUSED"), rows)
    if report.confusions:
        print_text("")
        confused = [
            (one.label, one.taken_for, one.rows, one.answered, short(one.text)) for one in report.confusions
        ]
        print_table(("FOR", "TAKEN FOR", "ROWS", "ANSWERED", "SUCH AS"), confused, least=("SUCH AS",))
    _print_suggestion(report)


def _print_suggestion(report: Report) -> None:
    suggested = report.suggestion
    print_text("")
    if suggested.caution:
        print_text(f"No thresholds are suggested: {suggested.caution}. Look at the whole curve.")
    elif suggested.clarify_threshold is None or suggested.min_confidence is None:
        print_text("No thresholds would have enough of these rows right.")
    else:
        print_text(
            f"These rows speak for min_confidence {suggested.min_confidence:g} and clarify_threshold "
            f"{suggested.clarify_threshold:g}: the lowest with half of what is tried, and 97 % of what is answered, right."
        )


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"
