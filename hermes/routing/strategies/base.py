"""What a routing strategy owes the router. It is no strategy itself."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from hermes.messages import Decision
from hermes.routing.decision import Language
from hermes.routing.explanation import Explanation
from hermes.routing.lexicon import Lexicon
from hermes.values import value


@value
class Routed:
    """A decision, and the text that goes on to the plugin: what was sent, less what was only said to the router."""

    decision: Decision
    text: str


class Strategy(Protocol):
    """One way to route; made with the Thresholds of the configuration, and kept for all messages.

    Its module names the class in `adapter`. It keeps nothing between two calls.
    """

    def route(self, text: str, lexicon: Lexicon, *, language: Language) -> Routed | None:
        """Decide on `text`, any string at all, among the intents of `lexicon`; sentences are in `language`.

        None means that the text does not concern this strategy. After None or `no_match` the next one is asked.
        It runs in the event loop: it neither waits nor raises, and takes time linear in the text.
        """
        ...


@runtime_checkable
class Explaining(Protocol):
    """A strategy that can say why it decides as it does; of one that is none only the decision is told."""

    def explain(self, text: str, lexicon: Lexicon, *, language: Language) -> Explanation | None:
        """Decide as `route` does, and return the decision with every candidate and its reason in `language`."""
        ...
