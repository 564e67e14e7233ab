"""Asks the person at the terminal whether a call may run, and hands the answer in. It follows nothing."""

from __future__ import annotations

import math
import os
import select
import sys
import termios
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Literal

import click

from hermes.cli.client import Client, Declined, Unreachable
from hermes.cli.delivery import is_undecided
from hermes.cli.terminal import local_time, print_text
from hermes.cli.text import json_text, one_line
from hermes.dispatch.sentences import Locale, locale_of

_LOOK = 2.0  # seconds between two looks at whether somebody else has decided
_LINES = 40  # of a payload; the rest is told to be there
_LINE = 1 << 12  # bytes of an answer
_PASSING = frozenset({"unavailable", "rate_limited"})  # codes of a daemon that will take the answer later

_Answer = Literal["approve", "decline", "unclear", "settled"]  # settled: there is nothing more to hand in
_ANSWERS: dict[str, _Answer] = {
    **dict.fromkeys(("y", "yes", "是", "好"), "approve"),
    **dict.fromkeys(("", "n", "no", "否", "不"), "decline"),
}
_WORDS: dict[Locale, dict[str, str]] = {
    "zh": {
        "what": "需要确认：{intent}（插件 {plugin}）",
        "more": "  ……还有 {count} 行，全文：hermes messages show {id} --json",
        "by": "可以确认的人：{by}",
        "another": "须由提出者以外的人确认",
        "until": "有效期至：{time}",
        "ask": "执行吗？[y/N] ",
        "approved": "已同意 {intent}。",
        "queued": "已同意 {intent}，正在等待空闲的工作进程",
        "stopping": "已拒绝 {intent}，即将结束",
        "declined": "已拒绝 {intent}，不会执行。",
        "moot": "已由别人决定，或已过期。",
        "waits": "{intent} 正在等待确认，用 hermes messages confirm {id} 同意，加 --decline 拒绝；发送时加 --yes 可事先同意",
    },
    "en": {
        "what": "To be confirmed: {intent} (plugin {plugin})",
        "more": "  … and {count} more lines, see: hermes messages show {id} --json",
        "by": "Can be confirmed by: {by}",
        "another": "Has to be confirmed by someone other than who asked",
        "until": "Valid until: {time}",
        "ask": "Run it? [y/N] ",
        "approved": "{intent} was approved.",
        "queued": "{intent} was approved and waits for a free worker",
        "stopping": "{intent} was declined and is about to end",
        "declined": "{intent} was declined and will not run.",
        "moot": "Somebody else has decided, or it has expired.",
        "waits": "{intent} waits for a confirmation: hermes messages confirm {id}, or --decline; send and retry take --yes to agree beforehand",
    },
}


def on_terminal() -> bool:
    """Say whether there is somebody who can be asked."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def waiting(record: dict[str, Any]) -> str:
    """Return in one line what a call waits for: its confirmation, and how it can be decided; or, approved, a worker."""
    if is_undecided(record):
        return _say(record, "waits")
    return _say(record, "queued" if record["confirmation"]["approved"] else "stopping")


def decided(record: dict[str, Any]) -> str:
    """Return in one sentence what was decided about a call."""
    return _say(record, "approved" if record["confirmation"]["approved"] else "declined")


def description(record: dict[str, Any]) -> str:
    """Return what would run: intent, plugin, parameters, who may confirm it and until when."""
    wanted = record["confirmation"]
    payload = json_text(wanted["payload"]).split("\n")
    lines = [_say(record, "what"), *(f"  {line}" for line in payload[:_LINES])]
    if len(payload) > _LINES:
        lines.append(_say(record, "more", count=len(payload) - _LINES))
    if wanted["by"]:
        lines.append(_say(record, "by", by=one_line(", ".join(wanted["by"]))))
    if wanted["other_than_asker"]:
        lines.append(_say(record, "another"))
    return "\n".join([*lines, _say(record, "until", time=local_time(wanted["expires_at"]))])


class Question:
    """The question of one call. Called with its record, it returns whether to go on following the message."""

    def __init__(
        self, client: Client, *, deadline: float | None, hidden: Callable[[], AbstractContextManager[None]]
    ) -> None:
        """Ask until `deadline` on the monotonic clock, None for as long as it can be answered; within `hidden` nothing
        else writes to the terminal.
        """
        self._client = client
        self._deadline = math.inf if deadline is None else deadline
        self._hidden = hidden
        self._answer: _Answer | None = None

    def __call__(self, record: dict[str, Any]) -> bool:
        """Ask, and hand the answer in; a person is asked once, however often this is called.

        False stands for no answer: nobody to ask, the end of the input, or the deadline. An answer that the daemon does
        not take, because somebody else has decided or has to, is told, and the message can be followed all the same.

        Raises:
            Unreachable: the answer could not be handed in; the next call tries again.
            NotHermes: something else answers.
            click.ClickException: Ctrl-C.
        """
        if not on_terminal():
            return False
        if self._answer is None:
            with self._hidden():
                self._answer = self._ask(record)
        if self._answer in {"approve", "decline"}:
            self._hand_in(record, approve=self._answer == "approve")
            self._answer = "settled"
        return self._answer is not None

    def _ask(self, record: dict[str, Any]) -> _Answer | None:
        termios.tcflush(sys.stdin, termios.TCIFLUSH)  # what was typed before the question is no answer to it
        print_text(description(record), stderr=True)
        answer: _Answer | None = "unclear"
        try:
            while answer == "unclear":
                click.echo(_say(record, "ask"), nl=False, err=True)
                answer = self._read(record)
        except KeyboardInterrupt:
            click.echo(err=True)
            raise click.ClickException(waiting(record)) from None
        return answer

    def _read(self, record: dict[str, Any]) -> _Answer | None:
        """Return what is typed, None if nothing will be."""
        while not select.select([sys.stdin], [], [], max(0, min(_LOOK, self._deadline - time.monotonic())))[
            0
        ]:
            if time.monotonic() >= self._deadline:
                click.echo(err=True)
                return None
            if self._is_settled(record):
                print_text("\n" + _say(record, "moot"), stderr=True)
                return "settled"
        typed = os.read(sys.stdin.fileno(), _LINE)
        if not typed:
            click.echo(err=True)
            return None
        return _ANSWERS.get(typed.decode(errors="replace").strip().lower(), "unclear")

    def _is_settled(self, record: dict[str, Any]) -> bool:
        try:
            now = self._client.get(f"/v1/messages/{record['request_id']}")
        except Unreachable:
            return False
        return not is_undecided(now)

    def _hand_in(self, record: dict[str, Any], *, approve: bool) -> None:
        try:
            self._client.post(f"/v1/messages/{record['request_id']}/confirm", {"approve": approve})
        except Declined as error:
            if error.code in _PASSING:
                raise Unreachable(str(error), sent=True) from error
            print_text(one_line(str(error)), stderr=True)
            if error.code == "forbidden":
                print_text(waiting(record), stderr=True)


def _say(record: dict[str, Any], name: str, **values: Any) -> str:
    """Return a sentence about a call in the language of its message."""
    wanted, payload = record["confirmation"], record["message"]["payload"]
    text = payload.get("text")
    locale = locale_of(text if isinstance(text, str) else None, payload, preferred="auto")
    intent, plugin = one_line(wanted["intent"]), one_line(wanted["plugin"])
    return _WORDS[locale][name].format(id=record["request_id"], intent=intent, plugin=plugin, **values)
