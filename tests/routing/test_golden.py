"""What people say to the sample plugins, and what must come of it: `golden/sentences.txt`.

A line is a decision and a sentence. `intent` is dispatched, `intent?` with a warning; `clarify` names what is asked
about. A section begins with `==` and the plugins that are there: `samples` are those that are shipped, the others lie
beside the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from hermes.entries import entries_of
from hermes.host.manifests.manifest import load_manifest
from hermes.routing.decision import Thresholds
from hermes.routing.router import Router
from tests.support.samples import SAMPLES

TABLE = Path(__file__).with_name("golden")


def rows() -> Iterator[tuple[str, str, str]]:
    """Return the plugins, the decision and the sentence of each line."""
    plugins = ""
    for line in (TABLE / "sentences.txt").read_text("utf-8").splitlines():
        if line.startswith("=="):
            plugins = line[2:].strip()
        elif line and not line.startswith("--"):
            decision, _, text = line.partition("|")
            yield plugins, decision.strip(), text.removeprefix(" ")


ROWS = list(rows())


@cache
def router(plugins: str) -> Router:
    folders = [
        folder
        for name in plugins.split()
        for folder in (SAMPLES.values() if name == "samples" else [TABLE / name])
    ]
    entries = [entry for folder in folders for entry in entries_of(load_manifest(folder))]
    return Router(["prefix", "keyword"], Thresholds(), entries=entries)


def came_to(asked: Router, text: str) -> str:
    decision = asked.route(text).decision
    if decision.outcome == "clarify":
        return "clarify " + ", ".join(sorted(one.intent for one in asked.rivals(decision)))
    return decision.intent + ("?" if decision.warning else "") or decision.outcome


@pytest.mark.parametrize(("plugins", "expected", "text"), ROWS)
def test_a_sentence_gets_the_decision_that_it_must_get(plugins: str, expected: str, text: str) -> None:
    asked = router(plugins)
    assert came_to(asked, text) == expected, asked.explain(text).reason


def test_the_table_is_long_and_names_no_sentence_twice() -> None:
    assert len(ROWS) >= 150
    assert len({(plugins, text) for plugins, _, text in ROWS}) == len(ROWS)
    assert {any(sign > "\u2fff" for sign in text) for _, _, text in ROWS} == {True, False}
