"""The router that `hermes router eval` measures: that of a configuration, or weights alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hermes.cli.problems import shown
from hermes.cli.router.surroundings import Surroundings
from hermes.errors import ConfigError
from hermes.routing.decision import Thresholds
from hermes.routing.learned import Learned
from hermes.routing.lexicon import IntentEntry, Lexicon
from hermes.routing.router import Router
from hermes.routing.weights import Weights, read_weights, weights_file
from hermes.values import value


@value
class Subject:
    """A router with the number of positive keywords of each of its intents; `name` says what it is made of."""

    name: str
    router: Router
    keywords: Mapping[str, int]

    @property
    def keywords_per_intent(self) -> float:
        """How many positive keywords an intent has on average."""
        return round(sum(self.keywords.values()) / len(self.keywords), 1) if self.keywords else 0.0

    def route(self, text: str) -> list[tuple[str, float]]:
        """Return the candidates of a text, best first; the time that this takes is that of a decision."""
        decision = self.router.route(text).decision
        return [(one.intent, one.score) for one in decision.candidates]


def subject_of(around: Surroundings, weights: Path | None, *, thresholds: Thresholds) -> Subject:
    """Return what is to be measured: `weights` alone, or the plugins here with their weights.

    Where there are no plugins, it is the weights of the configuration alone. Raises ConfigError if there is neither.
    """
    if weights is None:
        weights_file(around.config)
    if weights is None and not around.entries:
        if not around.weights.exists():
            detail = f"has no plugin, and there are no weights in {shown(around.weights)}; name some with --weights"
            raise ConfigError(detail, file=str(around.config.hermes.plugins_dir))
        weights = around.weights
    if weights is not None:
        return _alone(read_weights(weights), thresholds, name=f"the weights in {shown(weights)} alone")
    return _configured(around, thresholds)


def _alone(weights: Weights, thresholds: Thresholds, *, name: str) -> Subject:
    router = Router(("keyword",), thresholds)
    entries = [IntentEntry(intent, "weights", {}) for intent in weights.intents]
    router.use(Lexicon(entries, Learned(weights)))
    return Subject(name, router, {intent: len(one.keywords) for intent, one in weights.intents.items()})


def _configured(around: Surroundings, thresholds: Thresholds) -> Subject:
    """Return the router that the daemon would have."""
    learned, name = None, "the keywords of the plugins here"
    counts = {entry.intent: sum(weight > 0 for weight in entry.keywords.values()) for entry in around.entries}
    if around.weights.exists():
        weights = read_weights(around.weights)
        learned = Learned.fitted(weights, around.intents)
        name += f", and the weights in {shown(around.weights)}"
        for intent in around.intents & weights.intents.keys():
            counts[intent] += len(weights.intents[intent].keywords)
    router = Router(around.config.router.strategies, thresholds)
    router.use(Lexicon(around.entries, learned))
    return Subject(name, router, counts)
