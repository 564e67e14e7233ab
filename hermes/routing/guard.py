"""Makes a question of a direct hit on an intent that writes, where the text says not to. It judges no scores."""

from __future__ import annotations

from hermes.messages import Candidate, Decision
from hermes.routing.decision import Language
from hermes.routing.lexicon import Lexicon
from hermes.routing.negation import negated

_WARNINGS = {
    "zh": "这句话像是在说不要做，而 {intent} 会改动数据，所以先问一下。",
    "en": "This seems to say not to, and {intent} changes something, so it is asked first.",
}


class Guard:
    """Knows which intents of a lexicon write."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon
        self._writers = {
            (entry.intent, entry.plugin): position
            for position, entry in enumerate(lexicon.entries)
            if entry.writes
        }

    def stopped(self, decision: Decision, text: str) -> Candidate | None:
        """Return the chosen candidate if it must not run unasked: words of `text` led to it, and are negated there.

        What was named, with no keyword that matched, runs: nobody types a command to say that it is not to be done.
        """
        if decision.outcome != "dispatch" or not self._writers:
            return None
        chosen = next((one for one in decision.candidates if one.intent == decision.intent), None)
        if chosen is None or not chosen.matched:
            return None
        position = self._writers.get((chosen.intent, chosen.plugin))
        return chosen if position is not None and negated(text, self.lexicon, position=position) else None


def asked_first(chosen: Candidate, candidates: tuple[Candidate, ...], *, language: Language) -> Decision:
    """Return the question whether `chosen` is meant after all."""
    return Decision("clarify", "", chosen.score, candidates, _WARNINGS[language].format(intent=chosen.intent))
