"""A decision of the router, and the lexicon that it goes by: how long they take, and what the lexicon weighs."""

from __future__ import annotations

import gc
import re
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from time import perf_counter_ns
from unicodedata import normalize

from rich.console import Console

from benchmarks.tables import Aim, aims, figures
from hermes.routing.decision import Thresholds
from hermes.routing.folding import readings
from hermes.routing.lexicon import IntentEntry, Lexicon
from hermes.routing.lookalikes import ordinary_words
from hermes.routing.router import Router

_SIZES = (10, 100, 1_000)
_KEYWORDS, _PER_PLUGIN = 20, 4
_TEXTS, _REPEATS, _FULL = 400, 15, 60
_REBUILDS = 15
_SYLLABLES = (
    "ba",
    "co",
    "de",
    "fo",
    "hu",
    "in",
    "lo",
    "mer",
    "or",
    "qui",
    "re",
    "si",
    "ta",
    "un",
    "ver",
    "ex",
    "ing",
)
_OTHERS = (
    "bi",
    "cu",
    "da",
    "fe",
    "ho",
    "ja",
    "ka",
    "li",
    "mu",
    "no",
    "pe",
    "ro",
    "su",
    "ti",
    "wo",
    "za",
    "ax",
)
_tokens = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class _Words:
    """What keywords and texts are made of."""

    chinese: Sequence[str]
    english: Sequence[str]


def measure(console: Console, full: bool) -> None:
    random, repeats = Random(1), _FULL if full else _REPEATS
    words = _Words(sorted(ordinary_words()), _english(random, _SYLLABLES))
    others = _Words([word[::-1] for word in words.chinese], _english(random, _OTHERS))
    entries = [_entry(number, random, words=words) for number in range(_SIZES[-1])]
    texts, strange = ([_text(random, words=these) for _ in range(_TEXTS)] for these in (words, others))
    taken = [_measured(entries[:size], texts, strange=strange, repeats=repeats) for size in _SIZES]
    p50, p99 = _percentiles(_bare, texts, repeats=repeats)
    method = (
        f"{_KEYWORDS} keywords an intent, {_PER_PLUGIN} intents a plugin; two of five keywords are Chinese, two an "
        f"English word, one two English words. The same {_TEXTS} texts for all sizes, of 10 to 200 characters, a third "
        "each Chinese, English and mixed, made of the words that keywords are made of, those of strangers of others. "
        f"Of each text the fastest of {repeats} decisions counts, of the rebuilds (the keywords of one plugin changed) "
        "the median. Memory: what tracemalloc counts of the lexicon, the list of ordinary words with it. Bare, of a "
        f"text: NFKC, case folding and finding its words, p50 {p50:.1f} µs, p99 {p99:.1f} µs."
    )
    rows = [
        [f"{size:,}", *(f"{one:,.1f}" for one in row.values())]
        for size, row in zip(_SIZES, taken, strict=True)
    ]
    console.print(
        figures("A decision by hand-written keywords", ["intents", *taken[0]], rows=rows, method=method)
    )
    most = taken[-1]
    flat = most["p50 µs of strangers"] / taken[0]["p50 µs of strangers"]
    console.print(
        aims(
            [
                Aim("p50 with 1,000 intents, µs", 50, most["p50 µs"], most=True, form=".1f"),
                Aim("p50 of strangers, with 1,000 intents against 10", 1.5, flat, most=True),
                Aim("rebuilt for one plugin of 250, ms", 50, most["rebuilt ms"], most=True, form=".1f"),
                Aim("memory with 1,000 intents, MB", 40, most["MB"], most=True, form=".1f"),
            ]
        )
    )


def _measured(
    entries: Sequence[IntentEntry], texts: Sequence[str], *, strange: Sequence[str], repeats: int
) -> dict[str, float]:
    """Return the figures for these intents under their headings."""
    gc.collect()
    started = perf_counter_ns()
    lexicon = Lexicon(entries)
    built = (perf_counter_ns() - started) / 1e6
    router = Router(["prefix", "keyword"], Thresholds())
    router.use(lexicon)
    p50, p99 = _percentiles(router.route, texts, repeats=repeats)
    found = sum(len(matches) for text in texts for matches in lexicon.match(text).values()) / len(texts)
    return {
        "p50 µs": p50,
        "p99 µs": p99,
        "keywords found": found,
        "p50 µs of strangers": _percentiles(router.route, strange, repeats=repeats)[0],
        "built ms": built,
        "rebuilt ms": _rebuilt(entries, lexicon),
        "MB": _memory(entries),
    }


def _rebuilt(entries: Sequence[IntentEntry], lexicon: Lexicon) -> float:
    taken = []
    for number in range(_REBUILDS):
        changed = [
            IntentEntry(one.intent, one.plugin, {**one.keywords, f"新的{number}": 0.5})
            for one in entries[:_PER_PLUGIN]
        ]
        started = perf_counter_ns()
        lexicon = Lexicon([*changed, *entries[_PER_PLUGIN:]], like=lexicon)
        taken.append((perf_counter_ns() - started) / 1e6)
    return sorted(taken)[len(taken) // 2]


def _memory(entries: Sequence[IntentEntry]) -> float:
    ordinary_words.cache_clear()
    tracemalloc.start()
    kept = Lexicon(entries)
    weighs = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    del kept
    return weighs / 1e6


def _percentiles(
    decide: Callable[[str], object], texts: Sequence[str], *, repeats: int
) -> tuple[float, float]:
    fastest = []
    for text in texts:
        best = 10**12
        for _ in range(repeats):
            readings.cache_clear()  # no decision may know the text of the one before
            started = perf_counter_ns()
            decide(text)
            best = min(best, perf_counter_ns() - started)
        fastest.append(best / 1e3)
    fastest.sort()
    return fastest[len(fastest) // 2], fastest[len(fastest) * 99 // 100]


def _bare(text: str) -> object:
    return _tokens.findall(normalize("NFKC", text).casefold())


def _english(random: Random, syllables: Sequence[str]) -> Sequence[str]:
    return sorted({"".join(random.choices(syllables, k=random.randint(2, 4))) for _ in range(12_000)})


def _entry(number: int, random: Random, *, words: _Words) -> IntentEntry:
    keywords: dict[str, float] = {}
    while len(keywords) < _KEYWORDS:
        kind = len(keywords) % 5
        if kind < 2:
            longer = kind == 1 and random.random() < 0.3
            word = random.choice(words.chinese) + (random.choice(words.chinese) if longer else "")
        else:
            word = random.choice(words.english) + (f" {random.choice(words.english)}" if kind == 4 else "")
        keywords[word] = round(random.uniform(0.2, 0.95), 2)
    return IntentEntry(f"intent.{number}", f"plugin-{number // _PER_PLUGIN}", keywords)


def _text(random: Random, *, words: _Words) -> str:
    length, share = random.randint(10, 200), random.choice([0.0, 0.5, 1.0])
    text = ""
    while len(text) < length:
        if random.random() < share:
            text += random.choice(words.chinese) + random.choice(["", "", "的", "了", "，"])
        else:
            text += f" {random.choice(words.english)}{random.choice(['', '', '', ','])}"
    return text[:length]
