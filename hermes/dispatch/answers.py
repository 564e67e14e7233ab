"""Reads a text as the answer to the question which of several tools is meant. It knows the question and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from hermes.dispatch.phrases import (
    CONSENTS,
    FILLER,
    LONGEST,
    POLITE,
    REFUSALS,
    Units,
    asks,
    covered,
    level,
    phrases,
    units,
    ways,
)
from hermes.routing.folding import is_cjk
from hermes.routing.inflection import forms
from hermes.values import value

_COUNTED = 20  # the largest number that is taken for one of an option, whether there is such an option or not
_WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
_ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
_NUMERALS = "一二三四五六七八九十"
_COUNTERS = ("", "个", "项", "种", "条", "号", "款")
_NAMED = ("number", "option", "choice", "nr", "选项", "选择", "编号")
# Of a text with one of these no number stands by itself: -1, 1.5, 1/2, 50%, $1, +1.
_is_figure = re.compile(r"[-+−±]\s*\d|\d\s*[%‰+]|[$€£¥]\s*\d|\d[.,:/-]\d").search
_number_sign = re.compile(r"\bno\.\s*(?=\d)", re.IGNORECASE)
# English words for a number that mean something else after these: "the one", "these two".
_BARE = FILLER - phrases("the|a|an|this|that|it|its|one|ones|of|to|for|in|on|and|me")


@value
class Offer:
    """An option as it can be named; `keywords` are those that speak for it."""

    intent: str
    label: str
    plugin: str = ""
    keywords: tuple[str, ...] = ()


@value
class Chosen:
    """An answer: the option of this number, counted from 1."""

    n: int


@value
class Refused:
    """An answer: none of it."""


@value
class Unclear:
    """An answer to the question that tells nothing: a number that no option has, a yes to several."""


def read_choice(text: str, offers: Sequence[Offer]) -> Chosen | Refused | Unclear | None:
    """Return what a text says to the question which of `offers` is meant, None if it is no answer.

    It is one if it is a number, a name (intent, plugin or label), or made of nothing but words of exactly one of
    them; what fits two is no answer, and neither is what asks something or looks like a command.
    """
    said = units(_number_sign.sub("", level(text)))
    if not said or asks(text) or level(text).lstrip().startswith("/"):
        return None
    count = len(offers)
    named = _named(text, offers)
    if _is_figure(level(text)):
        return Chosen(named[0]) if len(named) == 1 else None
    numbers = [n for n in range(1, _COUNTED + 1) if _is_number(said, n, count=count)]
    for found in (numbers, named):
        if len(found) == 1 and found[0] <= count:
            return Chosen(found[0])
    if covered(said, REFUSALS, filler=POLITE):
        return Refused()
    if covered(said, CONSENTS, filler=POLITE):
        return Chosen(1) if count == 1 else Unclear()
    described = [n for n, offer in enumerate(offers, 1) if _is_described(said, offer, n=n, count=count)]
    if len(described) == 1:
        return Chosen(described[0])
    return Unclear() if len(numbers) == 1 else None


def _is_number(said: Units, n: int, *, count: int) -> bool:
    """Say whether a text is nothing but the number `n`."""
    if covered(said, _spelled(n, count), filler=FILLER):
        return True
    return covered(said, _counted(n), filler=_BARE)


@lru_cache(maxsize=1024)
def _spelled(n: int, count: int) -> frozenset[Units]:
    """Return the ways to write a number that are one wherever they stand."""
    names = [str(n), *([_NUMERALS[n - 1], _WORDS[n - 1]] if n <= len(_WORDS) else [])]
    spelled = {units(f"第{name}{counter}") for name in names for counter in _COUNTERS}
    spelled |= {units(f"{named} {name}") for named in _NAMED for name in names}
    spelled |= {units(f"{name}号") for name in names}
    suffix = {1: "st", 2: "nd", 3: "rd"}.get(n, "th")
    spelled |= {(str(n),), (f"{n}{suffix}",), *(((_ORDINALS[n - 1],),) if n <= len(_ORDINALS) else ())}
    if n == count:
        spelled |= phrases("最后|最后一个|最后那个|最后一项|last")
    if count == 2:
        first, second = "前者|前一个|前面|上面|former", "后者|后一个|后面|下面|latter"
        spelled |= phrases(first if n == 1 else second) if n <= count else set()
    return frozenset(spelled)


def _counted(n: int) -> set[Units]:
    """Return the ways to write a number that are one only if nothing else is said."""
    return {(_NUMERALS[n - 1],), (_WORDS[n - 1],)} if n <= len(_WORDS) else set()


def _named(text: str, offers: Sequence[Offer]) -> list[int]:
    """Return the options that a text is a name of."""
    said = ways(text)
    names = [{*ways(offer.intent), *ways(offer.label), *ways(offer.plugin)} for offer in offers]
    return [n for n, known in enumerate(names, 1) if said & known]


def _is_described(said: Units, offer: Offer, *, n: int, count: int) -> bool:
    """Say whether a text is nothing but words of an option, its number among them if it likes."""
    return covered(said, _words(offer) | _spelled(n, count), filler=FILLER)


def _words(offer: Offer) -> set[Units]:
    found: set[Units] = set()
    for text in (offer.intent, offer.label, offer.plugin, *offer.keywords):
        for way in ways(text):
            found |= set(_parts(way))
    return found - FILLER


def _parts(way: Units) -> Iterator[Units]:
    """Yield the words of a name: those of other scripts one by one in each form, of Chinese each piece of two or more."""
    for run in _runs(way):
        if not is_cjk(run[0]):
            yield from ((form,) for word in run for form in forms(word))
            continue
        if len(run) == 1:
            yield run
        for start in range(len(run)):
            for end in range(start + 2, min(start + LONGEST, len(run)) + 1):
                yield run[start:end]


def _runs(way: Units) -> Iterable[Units]:
    """Return a text cut where its script changes."""
    runs: list[list[str]] = []
    for unit in way:
        if runs and is_cjk(runs[-1][0]) == is_cjk(unit):
            runs[-1].append(unit)
        else:
            runs.append([unit])
    return [tuple(run) for run in runs]
