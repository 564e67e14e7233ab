"""Routes `/<intent> …` and `/<plugin> …`, as typed by people who know what they want."""

from __future__ import annotations

import re

from hermes.messages import Candidate, Decision
from hermes.routing.decision import SHOWN, Language, Thresholds
from hermes.routing.explanation import Explanation, because
from hermes.routing.lexicon import Lexicon
from hermes.routing.strategies.base import Routed

# Input methods give a full-width slash; pasted text may begin with a byte order mark or a zero-width sign.
_command = re.compile(r"[\s\u200b-\u200f\u2060\ufeff]*[/／](\S+)(.*)", re.DOTALL)


class PrefixStrategy:
    """Takes a text that begins with the name of an intent or of a plugin; paths and unknown commands it leaves.

    An intent's name goes before a plugin's. A plugin with several intents is asked about: its manifest says what
    each is for, but not which is meant when none is named.
    """

    def __init__(self, thresholds: Thresholds) -> None:
        """Take the thresholds that every strategy gets; a name needs none, they are only shown."""
        self._thresholds = thresholds

    def route(self, text: str, lexicon: Lexicon, *, language: Language) -> Routed | None:  # noqa: ARG002 the contract
        """Dispatch with confidence 1.0, or clarify among the plugin's intents; what follows the name is the text."""
        found = _read(text, lexicon)
        if found is None:
            return None
        _, rest, candidates = found
        return Routed(_decision(candidates, candidates[:SHOWN]), rest)

    def explain(self, text: str, lexicon: Lexicon, *, language: Language) -> Explanation | None:
        """Decide as `route` does, with every intent of the plugin."""
        found = _read(text, lexicon)
        if found is None:
            return None
        name, _, candidates = found
        decision = _decision(candidates, candidates)
        sentence = "named_plugin" if decision.outcome == "clarify" else "named"
        return Explanation(decision, because(sentence, language, command=f"/{name}"), self._thresholds)


def _read(text: str, lexicon: Lexicon) -> tuple[str, str, tuple[Candidate, ...]] | None:
    """Return the name that a text begins with, what follows it, and what is called so; None if nothing is."""
    command = _command.match(text)
    if command is None:
        return None
    by_priority = sorted(lexicon.named(command[1]), key=lambda entry: -entry.priority)
    candidates = tuple(Candidate(entry.intent, entry.plugin, 1.0) for entry in by_priority)
    return (command[1], command[2].strip(), candidates) if candidates else None


def _decision(candidates: tuple[Candidate, ...], shown: tuple[Candidate, ...]) -> Decision:
    if len({candidate.intent for candidate in candidates}) > 1:
        return Decision("clarify", "", 1.0, shown)
    return Decision("dispatch", candidates[0].intent, 1.0, shown)


adapter = PrefixStrategy
