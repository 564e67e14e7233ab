"""Fits linear scores, one against all others for each intent, to texts whose features are known. It picks no keywords."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

Floats = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]

_PENALTY = 0.2  # of what is on the wrong side, against the size of the weights


class Problem:
    """Texts by their features, and the intent of each by its number, −1 for none.

    The loss is the squared hinge: an intent's own texts are to score 1, those of all others −1.
    """

    def __init__(self, texts: Sequence[Sequence[int]], labels: Sequence[int], *, features: int, intents: int):
        ends = np.cumsum([0, *map(len, texts)])
        columns = np.fromiter((one for text in texts for one in text), np.int32, int(ends[-1]))
        ones = np.ones(len(columns), np.float32)
        self._texts = csr_matrix((ones, columns, ends), shape=(len(texts), features))
        self._turned = self._texts.T.tocsr()
        self._shape = (features, intents)
        self._targets: Floats = np.full((len(texts), intents), -1, np.float32)
        own = np.zeros((len(texts), intents), np.float32)
        for number, label in enumerate(labels):
            if label >= 0:
                self._targets[number, label] = 1
                own[number, label] = 1
        self.counts: Floats = self._turned @ own
        """In how many texts of each intent each feature is."""

    def fit(
        self, mask: Mask | None = None, start: tuple[Floats, Floats] | None = None, *, steps: int = 30
    ) -> tuple[Floats, Floats]:
        """Return weights by feature and intent, and biases; where `mask` is not, a weight stays 0."""
        features, intents = self._shape
        weights = np.zeros(features * intents, np.float32)
        where = slice(None) if mask is None else np.flatnonzero(mask.ravel())
        free = len(weights[where])

        def loss(point: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
            weights[where] = point[:free]
            scores = self._texts @ weights.reshape(self._shape)
            scores += point[free:].astype(np.float32)
            wrong = np.maximum(0, 1 - self._targets * scores)
            slope = (-2 * _PENALTY) * self._targets * wrong
            value = _PENALTY * float((wrong * wrong).sum()) + 0.5 * float(point[:free] @ point[:free])
            by_weight = (self._turned @ slope).ravel()[where]
            return value, np.concatenate([by_weight + point[:free], slope.sum(0)]).astype(np.float64)

        point = np.zeros(free + intents)
        if start is not None:
            point[:free], point[free:] = start[0].ravel()[where], start[1]
        found: Any = minimize(
            loss, point, jac=True, method="L-BFGS-B", options={"maxiter": steps, "maxcor": 8}
        )
        weights[:] = 0
        weights[where] = found.x[:free]
        return weights.reshape(self._shape).copy(), found.x[free:].astype(np.float32)
