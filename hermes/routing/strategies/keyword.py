"""Routes by the keywords of the manifests, found anywhere in the text."""

from __future__ import annotations

from hermes.messages import Candidate, Match
from hermes.routing.decision import Language, Thresholds, decide, shortlist
from hermes.routing.lexicon import Lexicon
from hermes.routing.scoring import score
from hermes.routing.strategies.base import Routed


class KeywordStrategy:
    """Scores every intent whose keywords occur; text without any keyword does not concern it."""

    def __init__(self, thresholds: Thresholds) -> None:
        self._thresholds = thresholds

    def route(self, text: str, lexicon: Lexicon, *, language: Language) -> Routed | None:
        """Decide by score; the text stays whole."""
        matches = lexicon.match(text)
        scores = {position: score(found) for position, found in matches.items()}
        kept = shortlist(scores, thresholds=self._thresholds)
        if not kept:
            return None
        candidates = [
            Candidate(entry.intent, entry.plugin, scores[position], _in_order(matches[position]))
            for position, entry in ((position, lexicon.entries[position]) for position in kept)
        ]
        decision = decide(candidates, lexicon.priorities, thresholds=self._thresholds, language=language)
        return Routed(decision, text)


def _in_order(matches: list[Match]) -> tuple[Match, ...]:
    return tuple(sorted(matches, key=lambda match: (-match.weight, match.keyword)))


adapter = KeywordStrategy
