"""Puts into words, Chinese or English, what of a value does not fit a JSON Schema: which field, what is wrong, what is right."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import jsonschema_rs

Locale = Literal["zh", "en"]
_SHOWN: Final = 80
_DESCRIBED: Final = 160
_OPTIONS: Final = 12  # values of a list that are told
_BRANCHES: Final = 4
_TYPES: Final = {
    "string": {"zh": "文本", "en": "text"},
    "integer": {"zh": "整数", "en": "a whole number"},
    "number": {"zh": "数字", "en": "a number"},
    "boolean": {"zh": "true 或 false", "en": "true or false"},
    "array": {"zh": "列表", "en": "a list"},
    "object": {"zh": "对象", "en": "an object"},
    "null": {"zh": "null", "en": "null"},
}
_FORMATS: Final = {
    "date": {"zh": "日期，例如 2026-01-31", "en": "a date such as 2026-01-31"},
    "date-time": {
        "zh": "带时区的时间，例如 2026-01-31T08:00:00Z",
        "en": "a time with its zone, such as 2026-01-31T08:00:00Z",
    },
    "time": {"zh": "带时区的时刻，例如 08:00:00Z", "en": "a time of day with its zone, such as 08:00:00Z"},
    "duration": {"zh": "时长，例如 PT30M", "en": "a duration such as PT30M"},
    "email": {"zh": "邮箱地址，例如 ada@example.com", "en": "an e-mail address such as ada@example.com"},
    "uri": {"zh": "完整的网址，例如 https://example.com/", "en": "a whole URL such as https://example.com/"},
    "hostname": {"zh": "主机名，例如 db.example.com", "en": "a host name such as db.example.com"},
    "ipv4": {"zh": "IPv4 地址，例如 192.0.2.1", "en": "an IPv4 address such as 192.0.2.1"},
    "ipv6": {"zh": "IPv6 地址，例如 2001:db8::1", "en": "an IPv6 address such as 2001:db8::1"},
    "uuid": {
        "zh": "UUID，例如 123e4567-e89b-12d3-a456-426614174000",
        "en": "a UUID such as 123e4567-e89b-12d3-a456-426614174000",
    },
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
    "minProperties": {"zh": "至少要有 {limit} 个成员", "en": "must have at least {limit} members"},
    "maxProperties": {"zh": "最多 {limit} 个成员", "en": "must have at most {limit} members"},
    "uniqueItems": {"zh": "不能有重复的项", "en": "must not have an item twice"},
    "contains": {"zh": "缺少必需的一种项", "en": "must have an item of a kind that it lacks"},
    "pattern": {
        "zh": "必须符合正则表达式 {pattern}",
        "en": "must match the regular expression {pattern}",
    },
    "format": {"zh": "必须是有效的 {format}", "en": "must be a valid {format}"},
    "propertyNames": {"zh": "的成员名称不符合要求", "en": "has a member whose name is not allowed"},
    "falseSchema": {"zh": "不能提供", "en": "must not be given"},
    "oneOf": {
        "zh": "同时符合几种只能选一的形式",
        "en": "fits more than one of the forms of which it may have one",
    },
}
_FORM: Final = {"zh": "必须是这种形式：{told}", "en": "must be of this form: {told}"}
_KIND: Final = {"zh": "必须是{told}", "en": "must be {told}"}
_OTHER: Final = {"zh": "不符合该工具的要求", "en": "does not fit what the tool accepts"}
_WHOLE: Final = {"zh": "参数", "en": "the payload"}
_MISSING: Final = {"zh": "缺少参数 {field}", "en": "{field} is missing"}
_MEANT: Final = {"zh": "（{told}）", "en": " ({told})"}
_UNKNOWN: Final = {"zh": "不认识 {field}", "en": "{field} is not known"}
_KNOWN: Final = {"zh": "，可用的有：{names}", "en": "; known are {names}"}
_INSTEAD: Final = {"zh": "，现在是 {value}", "en": ", not {value}"}
_IN_ALL: Final = {"zh": "…（共 {count} 个）", "en": "… ({count} in all)"}
_AND: Final = {"zh": "、", "en": ", "}
_OR: Final = {"zh": "或", "en": " or "}
_OR_ELSE: Final = {"zh": "，或者", "en": ", or "}


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with one field, in plain words that name it. `field` is "" for the whole; `missing` says that
    it is required and not there.
    """

    field: str
    message: str
    missing: bool = False


@dataclass(frozen=True, slots=True)
class Teller:
    """Tells errors of values that were checked against `schema`; values are told only if `shown`."""

    schema: Mapping[str, Any]
    locale: Locale
    shown: bool

    def whole(self, sentence: Mapping[Locale, str]) -> Problem:
        """Return the problem of a value as a whole."""
        return Problem("", f"{_WHOLE[self.locale]} {sentence[self.locale]}")

    def problems(self, error: jsonschema_rs.ValidationError) -> Iterator[Problem]:
        """Yield what an error means: each missing or unknown field by itself."""
        path = [str(part) for part in error.instance_path]
        facts = error.kind.as_dict()
        if error.kind.name == "required":
            field = _cut(".".join([*path, facts["property"]]))
            yield Problem(field, self._missing(error, field, name=facts["property"]), missing=True)
        elif "unexpected" in facts:
            names = () if path else _members(self.schema, "properties")
            known = _KNOWN[self.locale].format(names=_joined(names, self.locale)) if names else ""
            for name in facts["unexpected"]:
                field = _cut(".".join([*path, str(name)]))
                yield Problem(field, _UNKNOWN[self.locale].format(field=field) + known)
        else:
            field = _cut(".".join(path))
            instead = _INSTEAD[self.locale].format(value=_json(error.instance)) if self.shown and path else ""
            yield Problem(field, self._sentence(error, field) + instead)

    def _missing(self, error: jsonschema_rs.ValidationError, field: str, *, name: str) -> str:
        holder = self._at(error.schema_path[:-1])
        schema = _members(holder, "properties").get(name)
        if schema is None and not error.instance_path:
            schema = _members(self.schema, "properties").get(name)
        told = description(schema) or _joined_options(options(schema), self.locale)
        meant = _MEANT[self.locale].format(told=told) if told else ""
        return _MISSING[self.locale].format(field=field) + meant

    def _sentence(self, error: jsonschema_rs.ValidationError, field: str) -> str:
        branches = error.kind.as_dict().get("context")
        if branches and all(branches):
            return self._alternatives(error, branches, field=field)
        return f"{field or _WHOLE[self.locale]} {self._wanted(error)}"

    def _alternatives(
        self,
        error: jsonschema_rs.ValidationError,
        branches: Sequence[Sequence[jsonschema_rs.ValidationError]],
        *,
        field: str,
    ) -> str:
        """Return what a value lacks for the first of its allowed forms, for the second, and so on."""
        whole = f"{field or _WHOLE[self.locale]} "
        told: dict[str, None] = {}
        for branch in itertools.islice(branches, _BRANCHES):
            nearest = branch[0]
            same = list(nearest.instance_path) == list(error.instance_path)
            if same and nearest.kind.name not in ("required", "additionalProperties"):
                told[whole + self._wanted(nearest)] = None
            else:
                told[next(replace_shown(self).problems(nearest)).message] = None
        first, *others = told
        return _OR_ELSE[self.locale].join([first, *(one.removeprefix(whole) for one in others)])

    def _wanted(self, error: jsonschema_rs.ValidationError) -> str:
        """Return what a field must be."""
        facts, locale = error.kind.as_dict(), self.locale
        name = error.kind.name
        if name in ("pattern", "not", "anyOf", "if") or (
            name == "format" and facts["format"] not in _FORMATS
        ):
            told = description(self._at(error.schema_path[:-1]))
            if told:
                return _FORM[locale].format(told=told)
        if name == "format" and facts["format"] in _FORMATS:
            return _KIND[locale].format(told=_FORMATS[facts["format"]][locale])
        return _WORDS.get(name, _OTHER)[locale].format(**_worded(facts, locale))

    def _at(self, path: Iterable[Any]) -> Any:
        """Return the part of the schema at a path, None if it is not there."""
        part: Any = self.schema
        for step in path:
            if isinstance(part, dict):
                part = part.get(step)
            elif isinstance(part, list) and isinstance(step, int) and step < len(part):
                part = part[step]
            else:
                return None
        return part


def replace_shown(teller: Teller) -> Teller:
    """Return a teller that tells no values."""
    return Teller(teller.schema, teller.locale, shown=False)


def description(schema: Any) -> str:
    """Return how a schema calls what it is for, on one short line: its `description`, else its `title`, else ""."""
    if not isinstance(schema, dict):
        return ""
    texts = (schema.get(key) for key in ("description", "title"))
    lines = (" ".join(text.split()).rstrip(".。") for text in texts if isinstance(text, str))
    return _cut(next((line for line in lines if line), ""), _DESCRIBED)


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
        words["options"] = _joined_options(facts["options"], locale)
    return words


def options(schema: Any) -> Sequence[Any]:
    """Return the values that a schema lists, nothing if it lists none."""
    values = schema.get("enum") if isinstance(schema, dict) else None
    return values if isinstance(values, list) else ()


def _joined_options(options: Sequence[Any], locale: Locale) -> str:
    told = _AND[locale].join(_json(one) for one in options[:_OPTIONS])
    more = _IN_ALL[locale].format(count=len(options)) if len(options) > _OPTIONS else ""
    return _cut(told, 4 * _SHOWN) + more


def _members(schema: Any, key: str) -> Mapping[str, Any]:
    members = schema.get(key) if isinstance(schema, dict) else None
    return members if isinstance(members, dict) else {}


def _joined(names: Iterable[str], locale: Locale) -> str:
    return _cut(_AND[locale].join(names), 3 * _SHOWN)


def _json(value: Any) -> str:
    return _cut(json.dumps(value, ensure_ascii=False))


def _cut(text: str, length: int = _SHOWN) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
