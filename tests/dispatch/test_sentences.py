from __future__ import annotations

from typing import Any

import pytest

from hermes.dispatch.sentences import locale_of, say


@pytest.mark.parametrize(
    ("text", "payload", "locale"),
    [
        ("部署 web", {}, "zh"),
        ("deploy web to 生产", {}, "zh"),
        ("deploy web 🚀", {}, "en"),
        ("ｄｅｐｌｏｙ", {}, "en"),
        ("𠮷野家", {}, "zh"),
        ("", {"title": "中文"}, "en"),
        (None, {"title": "中文", "n": 3}, "zh"),
        (None, {"title": "title", "nested": {"a": "中文"}}, "en"),
        (None, {}, "en"),
    ],
)
def test_the_language_is_that_of_the_text_and_without_one_that_of_the_payload(
    text: str | None, payload: dict[str, Any], locale: str
) -> None:
    assert locale_of(text, payload, preferred="auto") == locale


def test_a_language_that_was_chosen_is_used_for_everybody() -> None:
    assert locale_of("部署", {}, preferred="en") == "en"
    assert locale_of("deploy", {}, preferred="zh") == "zh"


def test_the_fixed_sentences_are_those_of_the_contract() -> None:
    assert say("plugin_timeout", "zh", seconds="20") == "该工具执行超时（20 秒）"
    assert say("plugin_timeout", "en", seconds="20") == "The tool timed out after 20 s"
    for name, values in (("no_match", {}), ("no_intent", {"intent": "ci.x"})):
        assert say(name, "zh", **values).startswith("无法确定")
        assert say(name, "en", **values).startswith("Cannot tell")


def test_what_is_filled_in_stays_as_it_is() -> None:
    odd = "{weird} {0} %s 花括号 {{}}"
    assert odd in say("plugin_error", "zh", reason=odd)
    assert odd in say("plugin_error", "en", reason=odd)
