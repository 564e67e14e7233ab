"""English plurals and -ing forms of a keyword's word, made by rule. It knows no dictionary and reads no text.

`log` covers `logs` and `logging`; `query` covers `queries` and `querying`; `box` covers `boxes`; `cache` covers
`caches` and `caching`. A keyword that is written in the plural covers its singular too (`logs` covers `log`), one
written in -ing covers only itself. Past tenses are words of their own: what was deleted is not to be deleted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# They end like a plural of a word that means something else.
_NO_PLURALS = frozenset({"does", "goods", "means", "news"})
_one_beat = re.compile("[^aeiou]*[aeiou][bdfgklmnprstvz]")
_closed = re.compile(".*[^aeiou][aeiou][lmnprt]")


def singular(word: str) -> str:
    """Return the singular that a folded word is the plural of, or the word itself."""
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")) or word in _NO_PLURALS:
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return (
        word[:-2] if word.endswith(("sses", "shes", "nches", "rches", "tches", "xes", "zzes")) else word[:-1]
    )


def forms(word: str) -> frozenset[str]:
    """Return the folded words that count as `word`, itself included.

    A word that is not plain English letters, or is a single letter, has no other form.
    """
    if len(word) < 2 or not (word.isascii() and word.isalpha()):
        return frozenset({word})
    base = singular(word)
    plurals = {form for form in _plurals(base) if form not in _NO_PLURALS}
    return frozenset({word, base, *plurals, *_gerunds(base)})


def _plurals(base: str) -> Iterator[str]:
    if base.endswith("y") and base[-2] not in "aeiou":
        yield f"{base[:-1]}ies"
    elif base.endswith(("s", "x", "z", "ch", "sh")):
        yield f"{base}es"
    else:
        yield f"{base}s"
        if base.endswith("o"):
            yield f"{base}es"


def _gerunds(base: str) -> Iterator[str]:
    if len(base) < 3 or base.endswith("ing"):
        return
    if base.endswith("e") and base[-2] not in "eoy":
        yield f"{base[:-1]}ing"
    elif _one_beat.fullmatch(base):
        yield f"{base}{base[-1]}ing"
    else:
        yield f"{base}ing"
        if _closed.fullmatch(base):  # the stress decides, which letters do not show: committing, monitoring
            yield f"{base}{base[-1]}ing"
