"""What the keywords that matched are worth together. Whether that is enough is not decided here."""

from __future__ import annotations

from collections.abc import Iterable

from hermes.messages import Match

DIGITS = 4


def score(matches: Iterable[Match]) -> float:
    """Return how sure distinct `matches` of hand-written keywords make us of one intent, 0…1.

    Each positive keyword leaves 1 − weight of the doubt that was there; each negative one then leaves 1 − |weight|
    of the score. Rounded to 4 digits, so that sums of decimal weights compare as a reader would compare them.
    """
    doubt = 1.0
    kept = 1.0
    for match in matches:
        if match.weight > 0:
            doubt *= 1.0 - match.weight
        else:
            kept *= 1.0 + match.weight
    return round((1.0 - doubt) * kept, DIGITS)
