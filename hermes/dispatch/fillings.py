"""Reads a text as the answer to the question for missing parameters. It knows the parameters and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from hermes.dispatch.answers import Refused
from hermes.dispatch.doubtful import is_doubtful
from hermes.dispatch.phrases import FILLER, POLITE, REFUSALS, asks, covered, level, phrases, units
from hermes.host.manifests.misfits import options
from hermes.host.manifests.schema import converted
from hermes.values import value

_LONGEST = 200  # characters of a text that is a value as a whole
_WORD = 24  # characters of what counts as one word
_WORD_UNITS = 4  # Chinese characters of what counts as one word
_around = re.compile(
    r"^(?:it's|it is|是|就是)\s+|[\s,，]*(?:please|pls|thanks|thank you|谢谢)$", re.IGNORECASE
)
_QUOTES = {'"': '"', "'": "'", "“": "”", "「": "」", "`": "`"}
_STOPS = " \t\r\n,，;；、。"


@value
class Wanted:
    """What is asked for: the parameters of these names. `properties` are the schemas of all that the intent takes.

    `find` returns what slots and options find in a text; `fits` says whether a value is one that a parameter may have.
    `keywords` are those of the intent. With `careful` what is answered runs without anybody being asked once more.
    """

    names: tuple[str, ...]
    properties: Mapping[str, Any]
    find: Callable[[str], Mapping[str, Any]]
    fits: Callable[[str, Any], bool]
    keywords: tuple[str, ...] = ()
    careful: bool = False


@value
class Filled:
    """An answer: these values, some of which may not fit."""

    values: dict[str, Any]


def read_values(
    text: str, wanted: Wanted, *, elsewhere: bool = False, restated: bool = False
) -> Filled | Refused | None:
    """Return what a text says to the question for parameters, None if it is no answer.

    `name=value` always is one; then the one value that is wanted, if it is an option or a yes or no; a refusal; what slots and
    options find; and the whole text, if a single parameter is wanted. With `elsewhere` the text is for another tool: then only the
    first counts. With `restated` it is for the same tool: then it is a value only if it is a word that is no keyword. What may be
    a no, a question or a wait names no option, and where a write would run unasked it is no value either.
    """
    if level(text).lstrip().startswith("/"):
        return None
    pairs = _pairs(text, wanted)
    if pairs:
        return Filled(pairs)
    if elsewhere:
        return None
    chosen = _one_of(text, wanted)
    if chosen is not None:
        return chosen
    if covered(units(text), REFUSALS, filler=POLITE):
        return Refused()
    return _said(text, wanted, restated=restated)


def _said(text: str, wanted: Wanted, *, restated: bool) -> Filled | None:
    """Return what slots and options find in a text, else the whole text as a value."""
    doubtful = is_doubtful(text)
    if doubtful and wanted.careful:
        return None
    found = {name: one for name, one in wanted.find(text).items() if name in wanted.properties}
    if doubtful:
        found = {name: one for name, one in found.items() if not options(wanted.properties[name])}
    if not found.keys().isdisjoint(wanted.names):
        return Filled(found)
    if restated and (not _is_word(text) or covered(units(text), phrases(*wanted.keywords), filler=FILLER)):
        return None
    whole = _whole(text, wanted)
    return None if whole is None else Filled({**found, **whole})


def _one_of(text: str, wanted: Wanted) -> Filled | None:
    """Return the value if a single one is wanted and the text is one of a few that it may have."""
    if len(wanted.names) != 1:
        return None
    (name,) = wanted.names
    schema = wanted.properties.get(name)
    if not isinstance(schema, dict) or not (options(schema) or schema.get("type") == "boolean"):
        return None
    given = _as_value(_bare(text), schema)
    return Filled({name: given}) if wanted.fits(name, given) else None


def _whole(text: str, wanted: Wanted) -> dict[str, Any] | None:
    """Return the whole text as the value of the single parameter that is wanted."""
    bare = _bare(text)
    if len(wanted.names) != 1 or not units(bare) or len(bare) > _LONGEST or "\n" in bare:
        return None
    (name,) = wanted.names
    if asks(text.strip()[-1:]):
        return None
    given = _as_value(bare, wanted.properties.get(name))
    return {name: given} if wanted.fits(name, given) or _is_word(bare) else None


def _pairs(text: str, wanted: Wanted) -> dict[str, Any]:
    """Return what a text of nothing but `name=value` gives; nothing if it is anything else."""
    names = _names(wanted)
    if not names:
        return {}
    known = "|".join(re.escape(one) for one in sorted(names, key=len, reverse=True))
    found = list(
        re.finditer(rf"(?<![A-Za-z0-9_.-])({known})\s*(?:[=＝:：]|是(?!否))\s*", text, re.IGNORECASE)
    )
    before = text[: found[0].start()].strip(_STOPS) if found else ""
    if not found or (before and not covered(units(before), FILLER, filler=())):
        return {}
    given: dict[str, Any] = {}
    ends = [*(one.start() for one in found[1:]), len(text)]
    for match, end in zip(found, ends, strict=True):
        name = names[match[1].casefold()]
        bare = _unquoted(text[match.end() : end].strip(_STOPS))
        if bare:
            one = _as_value(bare, wanted.properties.get(name))
            if given.setdefault(name, one) != one:
                return {}  # two values for one: which is meant is not for us to say
    return given


def _names(wanted: Wanted) -> dict[str, str]:
    """Return the parameters by what they may be called: name, title, and a short description."""
    called: dict[str, list[str]] = {}
    for name, schema in wanted.properties.items():
        told = schema if isinstance(schema, dict) else {}
        texts = {name, str(told.get("title") or name), str(told.get("description") or name)}
        for text in {one.strip().casefold() for one in texts if len(one) <= _LONGEST}:
            called.setdefault(text, []).append(name)
    return {text: names[0] for text, names in called.items() if len(names) == 1}


def _as_value(text: str, schema: Any) -> Any:
    for option in options(schema):
        if units(str(option)) == units(text) or str(option) == text:
            return option
    return converted(text, schema)


def _bare(text: str) -> str:
    """Return a text without what is said and written around a value."""
    return _unquoted(_around.sub("", _around.sub("", text.strip())).strip(_STOPS + "！!"))


def _unquoted(text: str) -> str:
    closing = _QUOTES.get(text[:1])
    return text[1:-1] if closing is not None and len(text) > 1 and text.endswith(closing) else text


def _is_word(text: str) -> bool:
    """Say whether a text is a single word: nobody asks for anything else with one."""
    said = units(text)
    chinese = sum(len(one) == 1 and not one.isascii() for one in said)
    return 0 < len(text.strip()) <= _WORD and len(text.split()) == 1 and chinese <= _WORD_UNITS
