"""Brings text and keywords to one form, so that only what a reader would call a difference stays one.

It knows no keywords and no intents.
"""

from __future__ import annotations

import re
from functools import lru_cache
from string import ascii_letters, digits
from unicodedata import normalize

from hermes.routing.simplified import simplified

# Of a text longer than twice this only head and tail are read: a request stands before or after what was pasted
# into it, and the time a decision takes stays bounded.
_PART = 4_000

# Scripts that are written without spaces between words, letters only: their punctuation separates.
_CJK = (
    "\u1100-\u11ff\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb"  # Hangul
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # Kana
    "\u3105-\u312f\u3131-\u318e\u31a0-\u31bf"  # Bopomofo, Hangul letters
    "\u3005-\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)
_is_cjk = re.compile(f"[{_CJK}]")
_token = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")

# Nothing in a text of these signs alone is levelled but case.
_everyday = re.compile(
    "[ -~\t\n\u3001\u3002\u300a-\u300f\u2018-\u201d\u2026\u4e00-\u9fff\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f]*"
)
_capital = re.compile("[A-Z]")

# Signs without a width: controls that are not white space, joiners, direction marks, variation selectors, fillers.
_invisible = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]+"
)
# Accents and enclosing marks that did not merge with their letter.
_marks = re.compile("[\u0300-\u036f\u20d0-\u20ff]+")
# Sorting a run of combining marks takes quadratic time; a run this long holds no word.
_clutter = re.compile(r"[^\w\s]{33,}")

# Signs that nearly every Chinese sentence holds; with them the normaliser cannot take its short way.
_FULL_WIDTH_STOPS = "，！？：；（）"

# Humps are seen in `getUser`, `HTTPServer` and `ipv4Address`, not in `APIs` and `K8S`.
_hump = re.compile("[a-z][A-Z]|[A-Z0-9][A-Z][a-z]{2}")
_between_humps = re.compile("(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z]{2})")


def is_cjk(text: str) -> bool:
    """Say whether `text` holds a letter of Chinese, Japanese or Korean."""
    return not text.isascii() and _is_cjk.search(text) is not None


@lru_cache(maxsize=2)  # whoever scores a text reads it, one after the other
def readings(text: str) -> list[list[str]]:
    """Return the folded words of `text` in each way it can be read; joined and read again they stay the same.

    Compatible forms (full width, ligatures), case, accents that have no letter of their own, invisible signs and
    traditional Chinese are levelled. Whatever is no letter or digit (punctuation, emoji, `._-/:`) separates, and so
    does the change between CJK and other scripts: `K8S集群` is `k8s 集群`. A text with camelCase reads in two ways,
    whole and split: `GitLab` may be meant as `gitlab`, `getUser` as `get user`. Any string is taken, lone surrogates
    too; of a very long one only head and tail are read. What is returned is shared: nobody changes it.
    """
    text = _bounded(text)
    if _everyday.fullmatch(text):
        level = text
        if _capital.search(level) is None:
            return [_token.findall(simplified(level))]
    else:
        level = _level(text)
    ways = [_words(level)]
    if _hump.search(level):
        ways.append(_words(_between_humps.sub(" ", level)))
    return ways


def legible(text: str) -> str:
    """Return `text` folded as its words are, with the punctuation and the spaces between them."""
    plain = normalize("NFKC", _invisible.sub("", _clutter.sub(" ", _bounded(text, ". ")))).casefold()
    return simplified(normalize("NFKC", _marks.sub("", plain)))


def _bounded(text: str, gap: str = " ") -> str:
    if len(text) <= 2 * _PART:
        return text
    # What the cuts leave of a word is no word: `log` of `catalog`.
    edge = ascii_letters + digits
    return f"{text[:_PART].rstrip(edge)}{gap}{text[-_PART:].lstrip(edge)}"


def _level(text: str) -> str:
    if len(text) > 256:
        text = _clutter.sub(" ", text)
    for stop in _FULL_WIDTH_STOPS:
        text = text.replace(stop, " ")
    return normalize("NFKC", _invisible.sub("", text))


def _words(level: str) -> list[str]:
    folded = level.casefold()
    if not folded.isascii():
        folded = simplified(normalize("NFKC", _marks.sub("", folded)))
    return _token.findall(folded)
