"""What the router is to know of a plugin, as its manifest has it. The host knows no router, and the router no manifest."""

from __future__ import annotations

from hermes.host.manifests.manifest import Manifest
from hermes.routing.lexicon import IntentEntry


def entries_of(manifest: Manifest) -> list[IntentEntry]:
    """Return an entry for each intent of a plugin."""
    return [
        IntentEntry(
            one.name,
            manifest.name,
            one.keywords,
            priority=one.priority,
            writes=one.writes,
            examples=one.examples,
        )
        for one in manifest.intents
    ]
