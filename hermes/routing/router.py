"""The router: asks its strategies in turn which intent a text is for. It holds the lexicon that is in force."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hermes.catalog import find
from hermes.messages import Candidate, Decision
from hermes.routing.decision import Language, Thresholds, rivals_of
from hermes.routing.folding import is_cjk
from hermes.routing.lexicon import IntentEntry, Lexicon
from hermes.routing.strategies.base import Routed, Strategy

__all__ = ["Routed", "Router"]


class Router:
    """Decides for every text. Safe to ask from any thread; a decision sees one lexicon from beginning to end."""

    def __init__(
        self, strategies: Sequence[str], thresholds: Thresholds, *, entries: Iterable[IntentEntry] = ()
    ) -> None:
        """Make the strategies of these kinds, to be asked in this order; ConfigError for an unknown kind or entry."""
        self._thresholds = thresholds
        self._strategies: list[Strategy] = [
            find("routing.strategies", kind)(thresholds) for kind in strategies
        ]
        self._lexicon = Lexicon(entries)

    @property
    def intents(self) -> tuple[IntentEntry, ...]:
        """The intents that can be chosen now, by name."""
        return self._lexicon.entries

    def load(self, entries: Iterable[IntentEntry]) -> None:
        """Put `entries` in place of all there were, in one step; after a ConfigError the old ones stay in force."""
        self._lexicon = Lexicon(entries)

    def use(self, lexicon: Lexicon) -> None:
        """Put a lexicon in the place of the one in force, in one step."""
        self._lexicon = lexicon

    def rivals(self, decision: Decision) -> list[Candidate]:
        """Return the candidates of a decision to clarify that the question is about."""
        return rivals_of(decision.candidates, self._thresholds)

    def route(self, text: str, *, language: Language | None = None) -> Routed:
        """Decide on `text`; never raises. `language` is that of the warning, by default that of the text.

        The first strategy that knows anything better than `no_match` decides; of several `no_match` the most
        confident stands.
        """
        lexicon = self._lexicon
        language = language or ("zh" if is_cjk(text) else "en")
        fallback = Routed(Decision("no_match"), text)
        for strategy in self._strategies:
            routed = strategy.route(text, lexicon, language=language)
            if routed is None:
                continue
            if routed.decision.outcome != "no_match":
                return routed
            fallback = max(fallback, routed, key=lambda one: one.decision.confidence)
        return fallback
