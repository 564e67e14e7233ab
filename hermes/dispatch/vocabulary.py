"""The built-in words: tells which texts are one, and has it answered. What each says is in a file of its own."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace

from hermes.catalog import find, known
from hermes.dispatch.live import Live
from hermes.dispatch.words.base import Said, Surroundings, Word
from hermes.messages import ResultEnvelope
from hermes.values import value

_FAMILY = "dispatch.words"
_LONGEST = 300  # characters of a text that can be one
_TEXT = 4_000  # characters of an answer
_command = re.compile(r"/([^\W_][\w.-]*)(?:\s+(.*))?", re.DOTALL)
_OPENING = frozenset("\"'`*")


@value
class _Found:
    word: Word
    rest: str


class Vocabulary:
    """Finds the words of the family `dispatch.words`. The intent of a message that says one is `/` and its name."""

    def __init__(self, surroundings: Surroundings) -> None:
        """Make all words; `surroundings.words` need not know them yet."""
        around = replace(surroundings, words=lambda: self.words)
        made: list[Word] = [find(_FAMILY, kind)(around) for kind in known(_FAMILY)]
        self.words: Sequence[Word] = sorted(made, key=lambda word: word.name)
        self._by_intent = {f"/{word.name}": word for word in self.words}
        self._by_spelling = {
            _folded(one): word
            for word in self.words
            for one in (f"/{word.name}", *word.spellings, *(f"/{spelling}" for spelling in word.spellings))
        }
        self._host = surroundings.host

    def intent_of(self, text: str) -> str | None:
        """Return the intent of a text that is a built-in word and nothing else, None for any other."""
        found = self._find(text)
        return None if found is None else f"/{found.word.name}"

    def includes(self, text: str) -> bool:
        """Say whether a text is a built-in word and nothing else."""
        return self._find(text) is not None

    def knows(self, intent: str) -> bool:
        """Say whether an intent is that of a built-in word."""
        return intent in self._by_intent

    async def answer(self, live: Live) -> ResultEnvelope:
        """Have the word of a message answered; the text for people is left in its digest."""
        word = self._by_intent[live.record.message.intent]
        text = live.record.message.payload.get("text")
        found = self._find(text) if isinstance(text, str) else None
        rest = found.rest if found is not None and found.word is word else ""
        answer = await word.answer(Said(live, rest))
        live.digest = answer.text if len(answer.text) <= _TEXT else f"{answer.text[: _TEXT - 1]}…"
        return ResultEnvelope(data=answer.data)

    def _find(self, text: str) -> _Found | None:
        if len(text) > _LONGEST:
            return None
        bare = _bare(text)
        word = self._by_spelling.get(bare)
        if word is not None:
            return _Found(word, "")
        command = _command.fullmatch(bare)
        word = None if command is None else self._by_spelling.get(f"/{command[1]}")
        if command is None or word is None or not word.takes_more or self._is_taken(word.name):
            return None
        return _Found(word, command[2] or "")

    def _is_taken(self, name: str) -> bool:
        """Say whether a plugin or an intent is called like a word: what follows that name is for it."""
        return self._host.find(name) is not None or any(
            target.plugin.manifest.name == name for target in self._host.targets
        )


def _bare(text: str) -> str:
    """Return a text folded, without signs that nobody sees and what is written around a word."""
    folded = _folded(text)
    start, end = 0, len(folded)
    while start < end and _opens(folded[start]):
        start += 1
    while end > start and _closes(folded[end - 1]):
        end -= 1
    return folded[start:end]


def _folded(text: str) -> str:
    visible = (sign for sign in text if unicodedata.category(sign) not in ("Cf", "Cs", "Mn", "Me"))
    return unicodedata.normalize("NFKC", "".join(visible)).casefold()


def _opens(sign: str) -> bool:
    return sign.isspace() or sign in _OPENING or unicodedata.category(sign) in ("Ps", "Pi", "Pf", "So")


def _closes(sign: str) -> bool:
    return sign.isspace() or (unicodedata.category(sign)[0] in "PS" and sign not in "_-/")
