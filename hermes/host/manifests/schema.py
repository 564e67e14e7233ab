"""JSON Schemas of plugins, compiled once; what does not fit them is told in plain words, Chinese or English."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NoReturn

import jsonschema_rs

from hermes.config.validation import InvalidPart

Locale = Literal["zh", "en"]
_MOST: Final = 20  # problems that are worth telling at once
_SHOWN: Final = 80
_TYPES: Final = {
    "string": {"zh": "文本", "en": "text"},
    "integer": {"zh": "整数", "en": "a whole number"},
    "number": {"zh": "数字", "en": "a number"},
    "boolean": {"zh": "true 或 false", "en": "true or false"},
    "array": {"zh": "列表", "en": "a list"},
    "object": {"zh": "对象", "en": "an object"},
    "null": {"zh": "null", "en": "null"},
}
_WORDS: Final = {
    "type": {"zh": "必须是{types}", "en": "must be {types}"},
    "enum": {"zh": "必须是其中之一：{options}", "en": "must be one of {options}"},
    "const": {"zh": "必须是 {expected_value}", "en": "must be {expected_value}"},
    "minimum": {"zh": "不能小于 {limit}", "en": "must be at least {limit}"},
    "maximum": {"zh": "不能大于 {limit}", "en": "must be at most {limit}"},
    "exclusiveMinimum": {"zh": "必须大于 {limit}", "en": "must be greater than {limit}"},
    "exclusiveMaximum": {"zh": "必须小于 {limit}", "en": "must be less than {limit}"},
    "multipleOf": {"zh": "必须是 {multiple_of} 的倍数", "en": "must be a multiple of {multiple_of}"},
    "minLength": {"zh": "至少要有 {limit} 个字符", "en": "must have at least {limit} characters"},
    "maxLength": {"zh": "最多 {limit} 个字符", "en": "must have at most {limit} characters"},
    "minItems": {"zh": "至少要有 {limit} 项", "en": "must have at least {limit} items"},
    "maxItems": {"zh": "最多 {limit} 项", "en": "must have at most {limit} items"},
    "uniqueItems": {"zh": "不能有重复的项", "en": "must not have an item twice"},
    "pattern": {"zh": "必须符合 {pattern}", "en": "must match {pattern}"},
    "format": {"zh": "必须是有效的 {format}", "en": "must be a valid {format}"},
    "falseSchema": {"zh": "不能提供", "en": "must not be given"},
}
_OTHER: Final = {"zh": "不符合该工具的要求", "en": "does not fit what the tool accepts"}
_DEEP: Final = {"zh": "嵌套过深或含有无效字符", "en": "is nested too deeply or holds invalid text"}
_WHOLE: Final = {"zh": "参数", "en": "the payload"}
_MISSING: Final = {"zh": "缺少参数 {field}", "en": "{field} is missing"}
_UNKNOWN: Final = {"zh": "不认识 {field}", "en": "{field} is not known"}
_KNOWN: Final = {"zh": "，可用的有：{names}", "en": "; known are {names}"}
_INSTEAD: Final = {"zh": "，现在是 {value}", "en": ", not {value}"}
_AND: Final = {"zh": "、", "en": ", "}
_OR: Final = {"zh": "或", "en": " or "}
_BOOLEANS: Final = {"true": True, "yes": True, "是": True, "false": False, "no": False, "否": False}
_is_integer = re.compile(r"[+-]?[0-9]{1,18}").fullmatch
_is_number = re.compile(r"[+-]?[0-9]{1,18}(?:\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,2})?").fullmatch


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with one field, in plain words that name it. `field` is "" for the whole; `missing` says that
    it is required and not there.
    """

    field: str
    message: str
    missing: bool = False


class Schema:
    """A compiled JSON Schema of an object. It never reads from the network or from another file."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        """Compile `schema`; raise InvalidPart, which says where in it, if it is not a valid schema."""
        properties = schema.get("properties")
        self.properties: Mapping[str, Any] = properties if isinstance(properties, dict) else {}
        self.named = {*self.properties, *_texts(schema.get("required"))}
        try:
            self._validator = jsonschema_rs.validator_for(
                {"properties": {}, **schema}, validate_formats=True, retriever=_refuse_reference
            )
        except jsonschema_rs.ValidationError as error:
            reason = _cut(error.message.splitlines()[0], 200)
            raise InvalidPart(f"is not a valid JSON Schema: {reason}", tuple(error.instance_path)) from None

    def problems(self, value: Any, *, locale: Locale = "en", shown: bool = True) -> list[Problem]:
        """Return what is wrong with `value`, at most 20 problems; values are told only if `shown`."""
        try:
            errors = self._validator.iter_errors(value)
        except ValueError:
            return [Problem("", f"{_WHOLE[locale]} {_DEEP[locale]}")]
        told = (problem for error in errors for problem in self._told(error, locale, shown=shown))
        return list(itertools.islice(told, _MOST))

    def _told(
        self, error: jsonschema_rs.ValidationError, locale: Locale, *, shown: bool
    ) -> Iterator[Problem]:
        path = [str(part) for part in error.instance_path]
        facts = error.kind.as_dict()
        if error.kind.name == "required":
            field = _cut(".".join([*path, facts["property"]]))
            yield Problem(field, _MISSING[locale].format(field=field), missing=True)
        elif "unexpected" in facts:
            names = "" if path else _joined(self.properties, locale)
            known = _KNOWN[locale].format(names=names) if names else ""
            for name in facts["unexpected"]:
                field = _cut(".".join([*path, str(name)]))
                yield Problem(field, _UNKNOWN[locale].format(field=field) + known)
        else:
            field = _cut(".".join(path))
            wanted = _WORDS.get(error.kind.name, _OTHER)[locale].format(**_worded(facts, locale))
            instead = _INSTEAD[locale].format(value=_json(error.instance)) if shown and path else ""
            yield Problem(field, f"{field or _WHOLE[locale]} {wanted}{instead}")


def converted(text: str, schema: Any) -> Any:
    """Return `text` as the whole number, number or boolean that `schema` asks for; as it is where it is none."""
    wanted = schema.get("type") if isinstance(schema, dict) else None
    types = wanted if isinstance(wanted, list) else [wanted]
    if "string" in types:
        return text
    if "boolean" in types and text.strip().lower() in _BOOLEANS:
        return _BOOLEANS[text.strip().lower()]
    if ("integer" in types or "number" in types) and _is_integer(text.strip()):
        return int(text)
    if "number" in types and _is_number(text.strip()):
        return float(text)
    return text


def _worded(facts: Mapping[str, Any], locale: Locale) -> dict[str, str]:
    """Return the facts of an error as words that fit into its sentence."""
    words = {
        name: _json(value)
        for name, value in facts.items()
        if name in ("expected_value", "limit", "multiple_of")
    }
    words |= {name: _cut(str(facts[name])) for name in ("pattern", "format") if name in facts}
    if "types" in facts:
        words["types"] = _OR[locale].join(_TYPES[name][locale] for name in facts["types"])
    if "options" in facts:
        words["options"] = _joined(map(_json, facts["options"]), locale)
    return words


def _joined(names: Iterable[str], locale: Locale) -> str:
    return _cut(_AND[locale].join(names), 3 * _SHOWN)


def _json(value: Any) -> str:
    return _cut(json.dumps(value, ensure_ascii=False))


def _cut(text: str, length: int = _SHOWN) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _texts(value: Any) -> Iterator[str]:
    return (item for item in value if isinstance(item, str)) if isinstance(value, list) else iter(())


def _refuse_reference(uri: str) -> NoReturn:
    raise ValueError(f"a schema may not refer to {uri}; copy it in")
