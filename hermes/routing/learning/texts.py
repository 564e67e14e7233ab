"""What is learned from and what comes of it: texts by their features, and weights of features. It fits nothing."""

from __future__ import annotations

from collections.abc import Mapping

from hermes.values import value


@value
class Labelled:
    """A text by its features with their units, how many units it has, and its label, None for a stranger's."""

    features: Mapping[str, int]
    units: int
    label: str | None


@value
class Model:
    """Weights of features by intent, those of 0 left out, and the bias of each."""

    weights: Mapping[str, Mapping[str, float]]
    biases: Mapping[str, float]
