"""How built-in words write: tools and messages on one line each, in either language. It decides nothing."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from hermes.dispatch.sentences import Locale
from hermes.dispatch.under_way import Task
from hermes.host.host import Target
from hermes.routing.folding import is_cjk

_SNIPPET: Final = 40  # characters of a text
_EXAMPLE: Final = 80
_DESCRIPTION: Final = 200
_STATES: Final[dict[str, dict[Locale, str]]] = {
    "accepted": {"zh": "等待中", "en": "waiting"},
    "awaiting_confirmation": {"zh": "等待确认", "en": "waits for a confirmation"},
    "running": {"zh": "运行中", "en": "running"},
}
_TASK: Final[dict[Locale, str]] = {
    "zh": "- {intent}（{state}，{seconds} 秒）{snippet} — {id}",
    "en": "- {intent} ({state}, {seconds} s) {snippet} — {id}",
}
_TOOL: Final[dict[Locale, tuple[str, str, str, str]]] = {
    "zh": ("- {told}（{intent}）", "：", "“{}”", "、"),
    "en": ("- {told} ({intent})", ": ", "“{}”", ", "),
}


def tool_line(target: Target, locale: Locale, *, examples: int) -> str:
    """Return a tool with its description and at most so many examples, those in the language of the reader before others."""
    intent = target.service.intent
    form, colon, quoted, between = _TOOL[locale]
    told = one_line(intent.description, _DESCRIPTION)
    line = form.format(told=told, intent=code(intent.name)) if told else f"- {code(intent.name)}"
    shown = [quoted.format(one) for one in examples_in(intent.examples, locale, most=examples)]
    return line + (colon + between.join(shown) if shown else "")


def examples_in(examples: Sequence[str], locale: Locale, *, most: int) -> list[str]:
    """Return examples in a language, of others if there are none, each on one line."""
    ours = [one for one in examples if is_cjk(one) == (locale == "zh")]
    return [one_line(one, _EXAMPLE) for one in (ours or examples)[:most]]


def task_line(task: Task, locale: Locale) -> str:
    """Return a message under way: what it is for, how far it is, since when, how its text begins, and its id."""
    message = task.record.message
    text = message.payload.get("text")
    snippet = one_line(text, _SNIPPET) if isinstance(text, str) else ""
    line = _TASK[locale].format(
        intent=code(message.intent or "?"),
        state=_STATES[task.status][locale] if task.status in _STATES else task.status,
        seconds=max(0, round(time.time() - task.record.received_at)),
        snippet=snippet,
        id=code(message.request_id),
    )
    return " ".join(line.split())


def code(name: str) -> str:
    """Return a name as it is written in Markdown, so that nothing in it is read as a sign."""
    return f"`{name.replace('`', '')}`"


def one_line(text: str, most: int) -> str:
    """Return a text on one line of at most so many characters."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
