"""Tells which plugins take no calls now. It says no reasons: those name files, and are for operators."""

from __future__ import annotations

import time
from typing import Any, Final

from hermes.dispatch.sentences import Locale
from hermes.dispatch.words.base import Said, Surroundings

_STATES: Final[dict[str, dict[Locale, str]]] = {
    "failed": {"zh": "加载失败", "en": "could not be loaded"},
    "disabled": {"zh": "已停用", "en": "disabled"},
    "paused": {"zh": "暂停使用，{seconds} 秒后再试", "en": "paused, tried again in {seconds} s"},
    "probing": {"zh": "正在试探", "en": "being tried again"},
}
_PLUGINS: Final = 20  # that are told
_NAMED: Final[dict[Locale, tuple[str, str, str]]] = {
    "zh": ("{}（{}）", "、", "…"),
    "en": ("{} ({})", ", ", ", …"),
}


def unready(around: Surroundings, said: Said) -> dict[str, str]:
    """Return the plugins that take no calls, by name, with why in a few words; those that the sender may not use are left out."""
    told = {}
    for row in around.host.describe():
        state = _state(row)
        intents, principal = row["intents"], said.live.record.principal
        usable = not intents or any(around.may_use(principal, intent) for intent in intents)
        if state and usable:
            retry_at = row["breaker"]["retry_at"]
            seconds = 0 if retry_at is None else max(0, round(retry_at - time.time()))
            told[row["name"]] = _STATES[state][said.locale].format(seconds=seconds)
    return told


def listed(plugins: dict[str, str], locale: Locale) -> str:
    """Return plugins and why they are not ready, on one line."""
    one, between, more = _NAMED[locale]
    names = [one.format(name, why) for name, why in list(plugins.items())[:_PLUGINS]]
    return between.join(names) + (more if len(plugins) > _PLUGINS else "")


def _state(row: dict[str, Any]) -> str:
    if row["state"] in ("failed", "disabled"):
        return str(row["state"])
    if row["state"] != "ready":
        return ""
    return {"open": "paused", "half_open": "probing"}.get(row["breaker"]["state"], "")
