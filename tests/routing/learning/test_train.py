from __future__ import annotations

import itertools
import sys

import pytest

from hermes.errors import ConfigError
from hermes.routing.examples import OOS, Example
from hermes.routing.learned import Learned
from hermes.routing.learning.train import learn

SAID = {
    "log.show": (
        ["show", "give me", "where are", "看一下", "拿一下"],
        ["the build log", "the logs", "构建日志", "昨天的日志"],
    ),
    "service.restart": (
        ["restart", "reboot", "重启", "重新启动"],
        ["the web service", "the database", "网站", "数据库"],
    ),
    "weather.today": (
        ["how is", "tell me", "查一下", "今天"],
        ["the weather", "the forecast", "天气", "气温"],
    ),
    "ticket.open": (["open", "create", "提一个", "新建"], ["a ticket", "an issue", "工单", "问题单"]),
}
EXAMPLES = [
    Example(f"{how} {what}", label)
    for label, parts in SAID.items()
    for how, what in itertools.product(*parts)
]
STRANGE = [
    Example(text, OOS)
    for text in ("sing me a song", "tell me a joke", "唱首歌", "讲个笑话", "how old are you")
]


def test_what_is_learned_routes_what_was_not_said_before() -> None:
    learned = Learned(learn([*EXAMPLES, *STRANGE]))
    for text, intent in {
        "please show me those build logs": "log.show",
        "麻烦重启一下数据库": "service.restart",
        "what is the weather like": "weather.today",
        "新建一张工单": "ticket.open",
    }.items():
        assert learned.score(text)[0].intent == intent


def test_keywords_are_at_most_as_many_as_were_asked_for_heaviest_first() -> None:
    weights = learn(EXAMPLES, keywords=4)
    for one in weights.intents.values():
        assert 0 < len(one.keywords) <= 4
        assert list(one.keywords.values()) == sorted(one.keywords.values(), reverse=True)
        assert all(weight < 0 for weight in one.against.values())


def test_the_same_examples_in_any_order_give_the_same_keywords() -> None:
    once, again = learn(EXAMPLES), learn(EXAMPLES)
    assert (once.intents, once.trials, once.calibration) == (again.intents, again.trials, again.calibration)
    turned = learn(EXAMPLES[::-1])
    for name, one in once.intents.items():
        heaviest, others = list(one.keywords)[:3], turned.intents[name].keywords
        assert all(abs(one.keywords[keyword] - others.get(keyword, 0)) < 0.02 for keyword in heaviest)


def test_what_is_for_the_test_is_not_learned() -> None:
    rows = [*EXAMPLES, Example("xylophone", "log.show", "test"), Example("zither", "log.show", "validation")]
    weights = learn(rows)
    assert weights.rows == len(EXAMPLES)
    assert "xylophone" not in weights.intents["log.show"].keywords
    assert "zither" not in weights.intents["log.show"].keywords


def test_strangers_are_counted_and_are_no_intent() -> None:
    weights = learn([*EXAMPLES, *STRANGE])
    assert (weights.rows, weights.strangers) == (len(EXAMPLES) + len(STRANGE), len(STRANGE))
    assert OOS not in weights.intents


@pytest.mark.parametrize(
    "rows",
    [
        [Example("restart web", "a")],
        [Example("restart web", "a"), Example("restart it", "a")],
        [Example("restart web", "a"), Example("日志", "b")],
        [Example("same", "a"), Example("same", "b")],
        [Example("🚀", "a"), Example("word", "b")],
    ],
)
def test_a_few_examples_are_enough_to_begin_with(rows: list[Example]) -> None:
    learned = Learned(learn(rows))
    assert learned.intents == {row.label for row in rows}
    assert all(0 <= one.confidence <= 1 for row in rows for one in learned.score(row.text))


@pytest.mark.parametrize("rows", [[], [Example("x", OOS)], [Example("x", "a", "test")]])
def test_nothing_to_learn_from_is_told(rows: list[Example]) -> None:
    with pytest.raises(ConfigError, match="nothing to learn from"):
        learn(rows)


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("hermes.routing.learning.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(ConfigError, match=r"pip install 'hermes-messenger\[learn\]'"):
        learn(EXAMPLES)
