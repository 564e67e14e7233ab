"""Tries the examples of a manifest on its own keywords, as the router would in a daemon with no other plugin."""

from __future__ import annotations

from collections.abc import Iterator

from hermes.config.document import ABSENT, Document
from hermes.entries import entries_of
from hermes.errors import ConfigError
from hermes.host.manifests.manifest import Manifest
from hermes.routing.decision import Thresholds
from hermes.routing.router import Router


def lost_examples(manifest: Manifest, document: Document) -> Iterator[ConfigError]:
    """Find examples that do not lead to the intent that has them; the keywords must be right."""
    router = Router(("keyword",), Thresholds(), entries=entries_of(manifest))
    for index, intent in enumerate(manifest.intents):
        if not intent.keywords:
            continue
        for number, example in enumerate(intent.examples):
            decision = router.route(example).decision
            if decision.outcome == "dispatch" and decision.intent == intent.name:
                continue
            place = ("intents", index, "examples", number)
            told = "the keywords find nothing in it"
            if decision.outcome == "dispatch":
                told = f"goes to {decision.intent}"
            elif decision.outcome == "clarify":
                told = "is asked back about: " + " or ".join(one.intent for one in decision.candidates[:2])
            elif decision.confidence:
                told = f"the keywords in it come to {decision.confidence:.2f}, and {Thresholds().min_confidence:g} are needed"
            yield document.problem(place if document.at(place) is not ABSENT else (), told)
