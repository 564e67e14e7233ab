"""The router: asks its strategies in turn which intent a text is for. It holds the lexicon that is in force."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from hermes.catalog import find
from hermes.messages import Candidate, Decision
from hermes.routing.decision import Language, Thresholds, rivals_of
from hermes.routing.explanation import Explanation, because, told
from hermes.routing.folding import is_cjk
from hermes.routing.guard import Guard, asked_first
from hermes.routing.lexicon import IntentEntry, Lexicon
from hermes.routing.strategies.base import Explaining, Routed, Strategy

__all__ = ["Explanation", "Routed", "Router"]


class _Decided(Protocol):
    @property
    def decision(self) -> Decision: ...


_D = TypeVar("_D", bound=_Decided)


class Router:
    """Decides for every text. Safe to ask from any thread; a decision sees one lexicon from beginning to end."""

    def __init__(
        self, strategies: Sequence[str], thresholds: Thresholds, *, entries: Iterable[IntentEntry] = ()
    ) -> None:
        """Make the strategies of these kinds, to be asked in this order; ConfigError for an unknown kind or entry."""
        self._thresholds = thresholds
        self._strategies: dict[str, Strategy] = {
            kind: find("routing.strategies", kind)(thresholds) for kind in strategies
        }
        self.use(Lexicon(entries))

    @property
    def lexicon(self) -> Lexicon:
        """The lexicon that is in force now."""
        return self._guard.lexicon

    @property
    def intents(self) -> tuple[IntentEntry, ...]:
        """The intents that can be chosen now, by name."""
        return self.lexicon.entries

    def load(self, entries: Iterable[IntentEntry]) -> None:
        """Put `entries` in place of all there were, in one step; after a ConfigError the old ones stay in force."""
        self.use(Lexicon(entries, self.lexicon.learned, like=self.lexicon))

    def use(self, lexicon: Lexicon) -> None:
        """Put a lexicon in the place of the one in force, in one step."""
        self._guard = Guard(lexicon)

    def rivals(self, decision: Decision) -> list[Candidate]:
        """Return the candidates of a decision to clarify that the question is about."""
        return rivals_of(decision.candidates, self._thresholds)

    def route(self, text: str, *, language: Language | None = None) -> Routed:
        """Decide on `text`; never raises. `language` is that of the warning, by default that of the text.

        The first strategy that knows anything better than `no_match` decides; of several `no_match` the most
        confident stands. A direct hit that the text negates, on an intent that writes, becomes a question.
        """
        guard, language = self._guard, language or _language_of(text)
        routed = self._first(
            lambda _, strategy: strategy.route(text, guard.lexicon, language=language),
            Routed(Decision("no_match"), text),
        )
        stopped = guard.stopped(routed.decision, text)
        if stopped is None:
            return routed
        return Routed(asked_first(stopped, (stopped,), language=language), routed.text)

    def explain(self, text: str, *, language: Language | None = None) -> Explanation:
        """Decide as `route` does, and return the decision with every candidate, and its reason in `language`."""
        guard, language = self._guard, language or _language_of(text)
        nothing = because("nothing" if guard.lexicon.entries else "empty", language)
        found = self._first(
            lambda kind, strategy: self._explanation(
                kind, strategy, text=text, lexicon=guard.lexicon, language=language
            ),
            Explanation(Decision("no_match"), nothing, self._thresholds),
        )
        stopped = guard.stopped(found.decision, text)
        if stopped is None:
            return found
        reason = because("negated", language, chosen=told(stopped, language))
        return Explanation(
            asked_first(stopped, found.decision.candidates, language=language), reason, self._thresholds
        )

    def _first(self, ask: Callable[[str, Strategy], _D | None], fallback: _D) -> _D:
        for kind, strategy in self._strategies.items():
            found = ask(kind, strategy)
            if found is None:
                continue
            if found.decision.outcome != "no_match":
                return found
            fallback = max(fallback, found, key=lambda one: one.decision.confidence)
        return fallback

    def _explanation(
        self, kind: str, strategy: Strategy, *, text: str, lexicon: Lexicon, language: Language
    ) -> Explanation | None:
        if isinstance(strategy, Explaining):
            return strategy.explain(text, lexicon, language=language)
        routed = strategy.route(text, lexicon, language=language)
        if routed is None:
            return None
        return Explanation(routed.decision, because("settled", language, kind=kind), self._thresholds)


def _language_of(text: str) -> Language:
    return "zh" if is_cjk(text) else "en"
