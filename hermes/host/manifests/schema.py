"""JSON Schemas of plugins, compiled once. What does not fit them is put into words elsewhere."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any, Final, NoReturn

import jsonschema_rs

from hermes.config.validation import InvalidPart
from hermes.host.manifests.misfits import Locale, Problem, Teller

__all__ = ["Locale", "Problem", "Schema", "converted"]

_MOST: Final = 20  # problems that are worth telling at once
_REASON: Final = 200
_DEEP: Final[dict[Locale, str]] = {
    "zh": "嵌套过深或含有无效字符",
    "en": "is nested too deeply or holds invalid text",
}
_BOOLEANS: Final = {"true": True, "yes": True, "是": True, "false": False, "no": False, "否": False}
_is_integer = re.compile(r"[+-]?[0-9]{1,18}").fullmatch
_is_number = re.compile(r"[+-]?[0-9]{1,18}(?:\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,2})?").fullmatch


class Schema:
    """A compiled JSON Schema of an object. It never reads from the network or from another file."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        """Compile `schema`; raise InvalidPart, which says where in it, if it is not a valid schema."""
        properties = schema.get("properties")
        self.properties: Mapping[str, Any] = properties if isinstance(properties, dict) else {}
        self.named = {*self.properties, *_texts(schema.get("required"))}
        self._schema = schema
        try:
            self._validator = jsonschema_rs.validator_for(
                {"properties": {}, **schema}, validate_formats=True, retriever=_refuse_reference
            )
        except jsonschema_rs.ValidationError as error:
            reason = error.message.splitlines()[0]
            reason = reason if len(reason) <= _REASON else reason[: _REASON - 1] + "…"
            raise InvalidPart(f"is not a valid JSON Schema: {reason}", tuple(error.instance_path)) from None

    def problems(self, value: Any, *, locale: Locale = "en", shown: bool = True) -> list[Problem]:
        """Return what is wrong with `value`, at most 20 problems; values are told only if `shown`."""
        teller = Teller(self._schema, locale, shown)
        try:
            errors = self._validator.iter_errors(value)
        except ValueError:
            return [teller.whole(_DEEP)]
        told = dict.fromkeys(problem for error in errors for problem in teller.problems(error))
        return list(itertools.islice(told, _MOST))


def converted(text: str, schema: Any) -> Any:
    """Return `text` as the whole number, number or boolean that `schema` asks for; as it is where it is none.

    Of a schema that names no type but lists its values, it is the one that is written so.
    """
    described: Mapping[str, Any] = schema if isinstance(schema, dict) else {}
    wanted, bare = described.get("type"), unicodedata.normalize("NFKC", text).strip()
    types = wanted if isinstance(wanted, list) else [wanted]
    if "string" in types:
        return text
    if wanted is None:
        return _listed(bare, described.get("enum"), otherwise=text)
    if "boolean" in types and bare.casefold() in _BOOLEANS:
        return _BOOLEANS[bare.casefold()]
    if ("integer" in types or "number" in types) and _is_integer(bare):
        return int(bare)
    if "number" in types and _is_number(bare):
        return float(bare)
    return text


def _listed(bare: str, values: Any, *, otherwise: str) -> Any:
    listed = values if isinstance(values, list) else []
    if bare in listed or otherwise in listed:
        return otherwise if otherwise in listed else bare
    spelled = [one for one in listed if not isinstance(one, str) and _spelling(one) == bare.casefold()]
    return spelled[0] if len(spelled) == 1 else otherwise


def _spelling(value: Any) -> str:
    return (
        {True: "true", False: "false", None: "null"}[value]
        if value is None or isinstance(value, bool)
        else str(value)
    )


def _texts(value: Any) -> Iterator[str]:
    return (item for item in value if isinstance(item, str)) if isinstance(value, list) else iter(())


def _refuse_reference(uri: str) -> NoReturn:
    raise ValueError(f"a schema may not refer to {uri}; copy it in")
