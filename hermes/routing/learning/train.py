"""Learns weights from examples, with the trials that their calibration is made of. It reads and writes no file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from hermes.errors import ConfigError
from hermes.routing.calibration import calibrated, share_of_strangers
from hermes.routing.examples import OOS, Example
from hermes.routing.features import features
from hermes.routing.learning.texts import Labelled, Model
from hermes.routing.weights import IntentWeights, Trial, Weights

_WORDS = 20_000  # that are kept beside the keywords
_ENOUGH = 200  # texts for validation


def learn(examples: Sequence[Example], *, keywords: int = 100) -> Weights:
    """Return what the training examples teach, at most `keywords` that speak for each intent.

    Examples for validation only serve to calibrate, those for test nothing. The same examples give the same weights.
    Raises ConfigError if there is nothing to learn from, or the extra `learn` is not installed.
    """
    taught = _labelled(one for one in examples if one.split in {None, "train"})
    counts = Counter(text.label for text in taught if text.label is not None)
    if not counts:
        raise ConfigError(
            'there is nothing to learn from: no row for training has an intent; write {"text", "intent"}'
        )
    checked = _labelled(one for one in examples if one.split == "validation")
    model, trials = _learned(taught, checked, keywords=keywords)
    strangers = sum(text.label is None for text in (*taught, *checked))
    return Weights(
        _intents(model, counts),
        rows=len(taught),
        strangers=strangers,
        learned_at=datetime.now(UTC).isoformat(timespec="seconds"),
        calibration=calibrated(trials, strangers=share_of_strangers(strangers)),
        trials=trials,
        words=_words(taught),
    )


def _labelled(examples: Iterable[Example]) -> list[Labelled]:
    return [Labelled(*features(one.text), label=None if one.label == OOS else one.label) for one in examples]


def _learned(
    taught: Sequence[Labelled], checked: Sequence[Labelled], *, keywords: int
) -> tuple[Model, tuple[Trial, ...]]:
    """Return the model, and how texts come out that were not learned.

    Where strangers are to be told from known texts, both have to come out of the same models: one that learned from fewer
    texts is less sure. Where none are labelled, what the serving model makes of the texts for validation counts.
    """
    # Threads of BLAS wait for one another by turning round: beside other work they took fifty times as long as one.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from hermes.routing.learning.keywords import fitted  # noqa: PLC0415 - only with the extra
        from hermes.routing.learning.trials import held_out, sampled, tried  # noqa: PLC0415
    except ImportError:
        raise ConfigError(
            "learning needs numpy and scipy; install them: pip install 'hermes-messenger[learn]'"
        ) from None
    model = fitted(taught, keywords=keywords)
    held = held_out(taught, keywords=keywords)
    known = [text for text in checked if text.label in model.weights]
    if len(known) >= _ENOUGH and all(text.label is not None for text in taught):
        held = [trial for trial in held if trial.label is None] + tried(model, known)
    return model, sampled(held)


def _intents(model: Model, counts: Counter[str]) -> dict[str, IntentWeights]:
    return {
        name: IntentWeights(
            counts[name],
            model.biases[name],
            {feature: weight for feature, weight in weights.items() if weight > 0},
            {feature: weight for feature, weight in weights.items() if weight < 0},
        )
        for name, weights in model.weights.items()
    }


def _words(texts: Iterable[Labelled]) -> frozenset[str]:
    """Return the words that occur more than once: what people write on purpose, and no slip."""
    found = Counter(one for text in texts for one in text.features if one.isascii() and " " not in one)
    return frozenset(word for word, count in found.most_common(_WORDS) if count > 1)
