"""What a call over HTTP says when it comes to nothing, in Chinese and English. What a server says is cleaned, not translated."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, Final

_LONGEST: Final = 200  # characters of what a server says
_KEYS: Final = ("message", "error_description", "detail", "error", "msg", "title", "reason", "errors")
_SENTENCES: Final = {
    "absent": ("缺少参数 {field}。", "{field} is missing."),
    "path": ("参数 {field} 不能用在地址里。", "{field} cannot be part of an address."),
    "header": (
        "参数 {field} 含有换行等控制字符。",
        "{field} holds a line break or another control character.",
    ),
    "status": ("对方返回 {status}。", "The service answered {status}."),
    "status_says": ("对方返回 {status}：{words}", "The service answered {status}: {words}"),
    "elsewhere": (
        "对方返回 {status}，要求改到另一个地址，不会跟随。",
        "The service answered {status} and points to another address, which is not followed.",
    ),
    "protocol": (
        "对方返回 {status}，要求换用另一种协议，这里不支持。",
        "The service answered {status} and asks for another protocol, which is not spoken here.",
    ),
    "name": (
        "连不上对方：找不到主机名。",
        "The service cannot be reached: the name of its host is not known.",
    ),
    "refused": ("连不上对方：拒绝连接。", "The service cannot be reached: it refuses connections."),
    "unreachable": ("连不上对方。", "The service cannot be reached."),
    "tls": (
        "连不上对方：证书或加密连接有问题。",
        "The service cannot be reached: its certificate or TLS is not in order.",
    ),
    "slow": ("连不上对方：连接超时。", "The service cannot be reached: no connection in time."),
    "broken": ("与对方的连接中断了。", "The connection to the service broke off."),
    "effect": ("该操作可能已经生效。", "It may have taken effect."),
    "unread": (
        "回答不全是 {charset} 编码，读不出的字符已被替换。",
        "Not all of the answer is in the character set {charset}; what cannot be read was replaced.",
    ),
    "no_data": ("回答里没有 {pointer}。", "The answer has no {pointer}."),
}
_tag = re.compile(r"\s*<")


def say(name: str, locale: object, **values: object) -> str:
    """Return one of the sentences; any locale but `zh` is English."""
    chinese, english = _SENTENCES[name]
    return (chinese if locale == "zh" else english).format(**values)


def words_of(value: Any, *, secrets: Collection[str]) -> str:
    """Return the short sentence in what a server says of an error, empty if there is none; secrets are hidden in it."""
    text = " ".join(_sentence(value).split())
    for secret in secrets:
        if secret:
            text = text.replace(secret, "***")
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _sentence(value: Any, depth: int = 0) -> str:
    if isinstance(value, str):
        return "" if _tag.match(value) else value[: _LONGEST * 8]  # a page for a browser says nothing here
    if isinstance(value, list) and value and depth < 4:
        return _sentence(value[0], depth + 1)
    if isinstance(value, dict) and depth < 4:
        found = (_sentence(value[key], depth + 1) for key in _KEYS if key in value)
        return next(filter(None, found), "")
    return ""
