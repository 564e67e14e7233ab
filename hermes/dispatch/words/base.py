"""What a built-in word owes, and what it can see and do. It is no word itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from hermes.dispatch.live import Live
from hermes.dispatch.questions import Questions
from hermes.dispatch.sentences import Locale
from hermes.dispatch.under_way import Task
from hermes.host.host import Host
from hermes.messages import Principal
from hermes.values import value


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What built-in words work with.

    `under_way` returns what the sender of a message has under way, from outside and older than it, in every session;
    `stop` stops one of those and says whether it could. `questions` returns those that are open, `forget` forgets a
    session of an owner. `may_use` says whether somebody may use an intent. `words` returns all built-in words.
    """

    host: Host
    under_way: Callable[[Live], Awaitable[Sequence[Task]]]
    stop: Callable[[Task], Awaitable[bool]]
    questions: Callable[[], Questions]
    forget: Callable[[str, str], Awaitable[None]]
    may_use: Callable[[Principal, str], bool]
    words: Callable[[], Sequence[Word]]


@value
class Said:
    """The message that says a word; `rest` is what it says behind it, "" if nothing."""

    live: Live
    rest: str

    @property
    def locale(self) -> Locale:
        """The language to answer in."""
        return self.live.locale


@value
class Answer:
    """What a word comes to: `text` in Markdown for people, `data` in short for programs."""

    text: str
    data: dict[str, Any]


class Word(Protocol):
    """One built-in word; made with the Surroundings, and kept for all messages. Its module names the class in `adapter`.

    `/<name>` means it, and each of `spellings`, if the text is nothing else; with `takes_more` words may follow
    behind a slash. `purpose` says in one line what it is for.
    """

    name: str
    spellings: tuple[str, ...]
    takes_more: bool
    purpose: Mapping[Locale, str]

    async def answer(self, said: Said) -> Answer:
        """Do what the word says. It is said again after a restart if its answer was not safe: doing it twice must do no harm."""
        ...
