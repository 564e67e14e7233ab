"""The file of learned weights: what was learned of each intent, in a form that people can read and correct."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field

from hermes.config import Config
from hermes.config.document import Document
from hermes.config.json_file import read_json
from hermes.config.validation import Section, validate
from hermes.errors import ConfigError
from hermes.values import value

FORMAT: Final = 1
MAX_BYTES: Final = 64 * 1024 * 1024
_FACTORS: Final = 6  # of a probability, as `calibration` makes it of a score
_REMEDY: Final = "make it anew with hermes router learn"

Weight = Annotated[float, Field(ge=-100, le=100)]
Keyword = Annotated[str, Field(min_length=1, max_length=200)]
Units = Annotated[int, Field(ge=0, le=1_000_000)]


@value
class IntentWeights:
    """What speaks for an intent: `keywords` above 0 and `against` below, each by falling size, beside its `bias`."""

    examples: int
    bias: float
    keywords: Mapping[str, float]
    against: Mapping[str, float]


@value
class Trial:
    """How a text came out that was not learned from: what its calibration is made of.

    `label` is its intent, None for a text that is for none; `scores` are its likeliest intents with their score and the
    units that their keywords take.
    """

    label: str | None
    units: int
    known: int  # units that any keyword takes
    scores: tuple[tuple[str, float, int], ...]


@value
class Weights:
    """All that was learned: `trials` for calibration, `words` that are known beside those of keywords."""

    intents: Mapping[str, IntentWeights]
    rows: int
    strangers: int  # of the rows
    learned_at: str
    calibration: tuple[float, ...]
    trials: tuple[Trial, ...]
    words: frozenset[str]


class _Intent(Section):
    examples: int = Field(ge=0)
    bias: Weight
    keywords: dict[Keyword, Annotated[float, Field(gt=0, le=100)]]
    against: dict[Keyword, Annotated[float, Field(lt=0, ge=-100)]] = Field(default_factory=dict)


class _Learned(Section):
    rows: int = Field(ge=0)
    strangers: int = Field(ge=0)
    at: str = Field(max_length=40)


def _all_factors(factors: list[float]) -> list[float]:
    if len(factors) != _FACTORS:
        raise ValueError(f"must be {_FACTORS} numbers")
    return factors


class _Calibration(Section):
    factors: Annotated[list[Weight], AfterValidator(_all_factors)]
    trials: list[tuple[str | None, Units, Units, list[tuple[str, Weight, Units]]]] = Field(max_length=10_000)


class _File(Section):
    format: Literal[1]
    learned: _Learned
    intents: dict[Annotated[str, Field(min_length=1, max_length=200)], _Intent] = Field(max_length=10_000)
    calibration: _Calibration
    words: str = Field(default="", max_length=1_000_000)


def weights_file(config: Config) -> Path:
    """Return where the weights are, if there are any; ConfigError if a file is named that is not there."""
    path = config.router.weights
    if "weights" in config.router.model_fields_set and not os.path.exists(path):
        remedy = "make it with hermes router learn, or leave the key out"
        raise config.source.problem(("router", "weights"), f"there is no file {path}; {remedy}")
    return path


def read_weights(path: Path) -> Weights:
    """Read a file that `write_weights` wrote; raise ConfigError or ConfigErrors that say what is wrong with it."""
    try:
        found = path.stat()
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}; {_REMEDY}", file=str(path)) from None
    if not S_ISREG(found.st_mode):  # reading a pipe would wait for whoever writes
        raise ConfigError(f"is not a file; {_REMEDY}", file=str(path))
    if found.st_size > MAX_BYTES:
        raise ConfigError(f"is larger than {MAX_BYTES >> 20} MiB; {_REMEDY}", file=str(path))
    document = read_json(path)
    file = validate(_File, _with_lists_as_tuples(document))
    return Weights(
        {
            name: IntentWeights(one.examples, one.bias, one.keywords, one.against)
            for name, one in file.intents.items()
        },
        rows=file.learned.rows,
        strangers=file.learned.strangers,
        learned_at=file.learned.at,
        calibration=tuple(file.calibration.factors),
        trials=tuple(
            Trial(label, units, known, tuple(scores))
            for label, units, known, scores in file.calibration.trials
        ),
        words=frozenset(file.words.split()),
    )


def fingerprint(path: Path) -> str:
    """Return sixteen letters and digits by which two files of weights are told apart; raise OSError if there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def write_weights(weights: Weights, path: Path) -> None:
    """Put the file in its place in one step; raise OSError if that cannot be done."""
    written = _written(weights)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(written)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _with_lists_as_tuples(document: Document) -> Document:
    """Return the document with each trial and each of its scores as a tuple, which JSON has not."""
    try:
        calibration = document.data["calibration"]
        calibration["trials"] = [
            (label, units, known, [tuple(one) for one in scores])
            for label, units, known, scores in calibration["trials"]
        ]
    except (TypeError, KeyError, ValueError):  # then the check says what is wrong
        pass
    return document


def _written(weights: Weights) -> str:
    """Return the text of the file: a line for each keyword, and one for each trial."""
    trials = [
        [one.label, one.units, one.known, [list(score) for score in one.scores]] for one in weights.trials
    ]
    head: dict[str, Any] = {
        "format": FORMAT,
        "learned": {"rows": weights.rows, "strangers": weights.strangers, "at": weights.learned_at},
        "intents": {
            name: {
                "examples": one.examples,
                "bias": one.bias,
                "keywords": dict(one.keywords),
                "against": dict(one.against),
            }
            for name, one in weights.intents.items()
        },
    }
    lines = json.dumps(head, ensure_ascii=False, indent=1)[:-2]
    told = ",\n   ".join(json.dumps(trial, ensure_ascii=False) for trial in trials)
    factors = json.dumps(list(weights.calibration))
    words = json.dumps(" ".join(sorted(weights.words)), ensure_ascii=False)
    calibration = f'{{\n  "factors": {factors},\n  "trials": [{told}]\n }}'
    return f'{lines},\n "calibration": {calibration},\n "words": {words}\n}}\n'
