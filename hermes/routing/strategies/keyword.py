"""Routes by the keywords of the manifests and by learned ones, found anywhere in the text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hermes.messages import Candidate, Match
from hermes.routing.decision import Language, Thresholds, decide, shortlist
from hermes.routing.explanation import Explanation, explain
from hermes.routing.lexicon import Lexicon
from hermes.routing.scoring import score
from hermes.routing.strategies.base import Routed


class KeywordStrategy:
    """Scores every intent whose keywords occur; text without any keyword does not concern it.

    An intent has its score by hand-written keywords or its probability by learned ones, whichever is larger.
    """

    def __init__(self, thresholds: Thresholds) -> None:
        self._thresholds = thresholds

    def route(self, text: str, lexicon: Lexicon, *, language: Language) -> Routed | None:
        """Decide by score; the text stays whole."""
        matches, scores = _scores(text, lexicon)
        kept = shortlist(scores, thresholds=self._thresholds)
        if not kept:
            return None
        candidates = _candidates(kept, scores, matches=matches, lexicon=lexicon)
        decision = decide(candidates, lexicon.priorities, thresholds=self._thresholds, language=language)
        return Routed(decision, text)

    def explain(self, text: str, lexicon: Lexicon, *, language: Language) -> Explanation | None:
        """Decide as `route` does, with every candidate."""
        matches, scores = _scores(text, lexicon)
        kept = [position for position, value in scores.items() if value > 0]
        if not kept:
            return None
        candidates = _candidates(kept, scores, matches=matches, lexicon=lexicon)
        return explain(candidates, lexicon.priorities, thresholds=self._thresholds, language=language)


def _scores(text: str, lexicon: Lexicon) -> tuple[dict[int, Sequence[Match]], dict[int, float]]:
    """Return what was found in a text and what it is worth, by the positions of the intents."""
    written = lexicon.match(text)
    matches: dict[int, Sequence[Match]] = {**written}
    scores = {position: score(found) for position, found in written.items()}
    if lexicon.learned is not None:
        for learnt in lexicon.learned.score(text):
            for position in lexicon.positions(learnt.intent):
                found = written.get(position)
                matches[position] = _together(found, learnt.matched) if found else learnt.matched
                scores[position] = max(scores.get(position, 0.0), learnt.confidence)
    return matches, scores


def _together(written: Sequence[Match], learned: Sequence[Match]) -> list[Match]:
    """Return hand-written and learned keywords that were found; one that is both stands once."""
    known = {match.keyword for match in written}
    return [*written, *(match for match in learned if match.keyword not in known)]


def _candidates(
    kept: Iterable[int],
    scores: Mapping[int, float],
    *,
    matches: Mapping[int, Sequence[Match]],
    lexicon: Lexicon,
) -> list[Candidate]:
    return [
        Candidate(entry.intent, entry.plugin, scores[position], _in_order(matches[position]))
        for position, entry in ((position, lexicon.entries[position]) for position in kept)
    ]


def _in_order(matches: Sequence[Match]) -> tuple[Match, ...]:
    if isinstance(matches, tuple):  # what was learned, and nothing else, is in order already
        return matches
    return tuple(sorted(matches, key=lambda match: (-match.weight, match.keyword)))


adapter = KeywordStrategy
