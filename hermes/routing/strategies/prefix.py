"""Routes `/<intent> …` and `/<plugin> …`, as typed by people who know what they want."""

from __future__ import annotations

import re

from hermes.messages import Candidate, Decision
from hermes.routing.decision import SHOWN, Language, Thresholds
from hermes.routing.lexicon import Lexicon
from hermes.routing.strategies.base import Routed

# Input methods give a full-width slash; pasted text may begin with a byte order mark or a zero-width sign.
_command = re.compile(r"[\s\u200b-\u200f\u2060\ufeff]*[/／](\S+)(.*)", re.DOTALL)


class PrefixStrategy:
    """Takes a text that begins with the name of an intent or of a plugin; paths and unknown commands it leaves.

    An intent's name goes before a plugin's. A plugin with several intents is asked about: its manifest says what
    each is for, but not which is meant when none is named.
    """

    def __init__(self, _thresholds: Thresholds) -> None:
        """Take the thresholds that every strategy gets; a name needs none."""

    def route(self, text: str, lexicon: Lexicon, *, language: Language) -> Routed | None:  # noqa: ARG002 the contract
        """Dispatch with confidence 1.0, or clarify among the plugin's intents; what follows the name is the text."""
        command = _command.match(text)
        entries = lexicon.named(command[1]) if command else ()
        if not command or not entries:
            return None
        text = command[2].strip()
        by_priority = sorted(entries, key=lambda entry: -entry.priority)
        candidates = tuple(Candidate(entry.intent, entry.plugin, 1.0) for entry in by_priority[:SHOWN])
        if len({entry.intent for entry in entries}) > 1:
            return Routed(Decision("clarify", "", 1.0, candidates), text)
        return Routed(Decision("dispatch", candidates[0].intent, 1.0, candidates), text)


adapter = PrefixStrategy
