"""What an answer of HTTP comes to: the envelope of a call. It opens no connection."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from hermes.host.http.charsets import utf8_of
from hermes.host.http.options import ResponseFile
from hermes.host.http.words import say, words_of
from hermes.host.programs.printed import value_of
from hermes.host.workers.failures import CallEnded
from hermes.values import value

_ELSEWHERE = {300, 301, 302, 303, 305, 307, 308}
_GONE = {404, 410}
_LATER = {408, 425, 429}
_MISSING = object()
_index = re.compile(r"0|[1-9][0-9]{0,8}").fullmatch


@value
class Answer:
    """What a server answered: its status, the content with its character set if that was told."""

    status: int
    content: bytes
    charset: str | None = None


def envelope_of(
    answer: Answer, response: ResponseFile, *, locale: object, secrets: Collection[str]
) -> dict[str, Any]:
    """Return the envelope; `secrets` are hidden in what it says of an error. Raises Raised for JSON that is not strict."""
    if not 200 <= answer.status < 300:
        return _refusal(answer, response, locale=locale, secrets=secrets)
    content, whole = utf8_of(answer.content, answer.charset)
    found = value_of(content)
    if response.error is not None and (told := point(found, response.error)) and told is not _MISSING:
        words = words_of(told, secrets=secrets) or say("status", locale, status=answer.status)
        return {"data": None, "error": words}
    data = point(found, response.data)
    if data is _MISSING:
        return {"data": None, "error": None, "warning": say("no_data", locale, pointer=response.data)}
    unread = {} if whole else {"warning": say("unread", locale, charset=answer.charset or "UTF-8")}
    return {"data": data, "error": None} | unread


def failed(code: str, message: str, *, warning: str | None = None) -> dict[str, Any]:
    """Return the envelope of an error; only what is away may be there again."""
    error = {"code": code, "message": message, "retryable": code == "upstream_unavailable"}
    return {"data": None, "error": error} | ({"warning": warning} if warning else {})


def point(found: Any, pointer: str) -> Any:
    """Return what a JSON pointer leads to in a value, or a value that is nothing else if it leads nowhere."""
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and name in found:
            found = found[name]
        elif isinstance(found, list) and _index(name) and int(name) < len(found):
            found = found[int(name)]
        else:
            return _MISSING
    return found


def _refusal(
    answer: Answer, response: ResponseFile, *, locale: object, secrets: Collection[str]
) -> dict[str, Any]:
    status = answer.status
    if status < 400:
        sentence = "protocol" if status < 200 else "elsewhere" if status in _ELSEWHERE else "status"
        return failed("upstream_denied", say(sentence, locale, status=status))
    words = words_of(_told(answer, response), secrets=secrets)
    message = say("status_says" if words else "status", locale, status=status, words=words)
    if status in _GONE:
        return failed("not_found", message)
    unavailable = status >= 500 or status in _LATER
    return failed("upstream_unavailable" if unavailable else "upstream_denied", message)


def _told(answer: Answer, response: ResponseFile) -> Any:
    """Return what the content of an error says, read as well as it can be."""
    try:
        found = value_of(utf8_of(answer.content, answer.charset)[0])
    except CallEnded:
        return ""
    told = _MISSING if response.error is None else point(found, response.error)
    return found if told is _MISSING or not told else told
