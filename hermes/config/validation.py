"""Checks a Document against a pydantic model and says in plain words, with file, line and key, what is wrong."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Final, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import ErrorDetails

from hermes.config.document import ABSENT, Document, KeyPath, Substituted

NOT_AVAILABLE: Final = "is not available in this version"
Checked = TypeVar("Checked", bound=BaseModel)
_SHOWN: Final = 80
_WANTED: Final = {
    "missing": "is required",
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping of keys to values",
    "model_type": "must be a mapping of keys to values",
    "literal_error": "must be {expected}",
    "greater_than": "must be greater than {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than": "must be less than {lt:g}",
    "less_than_equal": "must be at most {le:g}",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must not be empty",
    "string_pattern_mismatch": "must match {pattern}",
    "value_error": "{error}",
}


class InvalidPart(ValueError):
    """Raised by a validator when the fault lies deeper than its own value: `path` leads on from there."""

    def __init__(self, detail: str, path: KeyPath = ()) -> None:
        super().__init__(detail)
        self.path = path


class Section(BaseModel):
    """Base of everything that is read from a file: closed, frozen, and without conversions between types.

    `later` names the keys that the contract has and this version lacks. A section that is there but empty is
    taken as one without keys.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
    later: ClassVar[frozenset[str]] = frozenset()

    @model_validator(mode="before")
    @classmethod
    def _empty(cls, value: Any) -> Any:
        return {} if value is None else value


def validate(model: type[Checked], document: Document, *, context: Any = None) -> Checked:
    """Return the document as `model`; raise ConfigErrors with everything that is wrong with it."""
    try:
        checked = model.model_validate(document.data, context=context)
    except ValidationError as error:
        told = {problem.key for problem in document.problems}
        found = (
            document.problem(_place(each), _sentence(each, model, document=document))
            for each in _causes(error)
        )
        document.refuse(*(problem for problem in found if problem.key not in told))
        raise
    document.refuse()
    return checked


def _causes(error: ValidationError) -> Iterator[ErrorDetails]:
    """Leave out what only follows from another fault: a default, or the whole of which it is a part."""
    faults = [each for each in error.errors() if each["type"] != "default_factory_not_called"]
    wholes = {each["loc"][:depth] for each in faults for depth in range(len(each["loc"]))}
    return (each for each in faults if each["loc"] not in wholes)


def _place(error: ErrorDetails) -> KeyPath:
    cause = error.get("ctx", {}).get("error")
    return (*error["loc"], *cause.path) if isinstance(cause, InvalidPart) else error["loc"]


def _sentence(error: ErrorDetails, model: type[BaseModel], *, document: Document) -> str:
    path = error["loc"]
    if error["type"] == "extra_forbidden":
        return _unknown(_section_at(model, path[:-1]), str(path[-1]))
    if error["type"] not in _WANTED:
        return error["msg"]
    wanted = _WANTED[error["type"]].format(**error.get("ctx", {}))
    return wanted if error["type"] == "value_error" else wanted + _shown(document.at(path))


def _unknown(section: type[BaseModel], key: str) -> str:
    if issubclass(section, Section) and key in section.later:
        return f"{NOT_AVAILABLE}; remove it"
    return unknown_key(key, keys_of(section))


def keys_of(section: type[BaseModel]) -> set[str]:
    """Return the keys that a section may have."""
    return {field.alias or name for name, field in section.model_fields.items()}


def unknown_key(key: str, allowed: Iterable[str]) -> str:
    """Return what is said of a key that is none of those `allowed`."""
    names = sorted(allowed)
    near = difflib.get_close_matches(key, names, n=1)
    hint = f"; did you mean {near[0]}?" if near else ";"
    return f"is not a known key{hint} allowed here: {', '.join(names)}"


def _shown(value: Any) -> str:
    if value is ABSENT or isinstance(value, (Substituted, dict, list)):
        return ""
    written = "empty" if value is None else json.dumps(value, ensure_ascii=False)
    return f"; it is {written if len(written) <= _SHOWN else written[: _SHOWN - 1] + '…'}"


def _section_at(model: type[BaseModel], path: KeyPath) -> type[BaseModel]:
    """Return the model that describes the mapping at `path`."""
    section = model
    for part in path:
        for name, field in section.model_fields.items():
            if part in (name, field.alias):
                section = next(_models(field.annotation), section)
    return section


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)
