"""A value of a fixed list is taken from a text where it is named beyond doubt, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from hermes.host.manifests.choices import Choices
from hermes.routing.folding import readings

ENVIRONMENT = {"enum": ["prod", "prod-eu", "staging", "生产环境", "生产", "测试"]}
TOOLS: dict[str, Any] = {
    "env": ENVIRONMENT,
    "service": {"enum": ["web", "payment-api", "userCenter", "数据库"]},
}


def found(text: str, properties: dict[str, Any] = TOOLS) -> dict[str, str]:
    return Choices(properties, readings).find(text)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("deploy web to prod", {"service": "web", "env": "prod"}),
        ("DEPLOY Web TO PROD!", {"service": "web", "env": "prod"}),
        ("ｄｅｐｌｏｙ　ｗｅｂ", {"service": "web"}),
        ("env:prod, service=web", {"service": "web", "env": "prod"}),
        ("🚀prod🚀", {"env": "prod"}),
        ("is it up in prod?", {"env": "prod"}),
        ("restart payment api", {"service": "payment-api"}),
        ("restart payment_api.", {"service": "payment-api"}),
        ("restart user-center", {"service": "userCenter"}),
        ("restart usercenter", {"service": "userCenter"}),
        ("把web发到测试", {"service": "web", "env": "测试"}),
        ("重启数据库，在生产环境", {"service": "数据库", "env": "生产环境"}),
        ("发布到生产", {"env": "生产"}),
        ("發佈到生產環境", {"env": "生产环境"}),
        ("web (prod)", {"service": "web", "env": "prod"}),
    ],
)
def test_a_value_is_found_however_it_is_written(text: str, values: dict[str, str]) -> None:
    assert found(text) == values


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "production",
        "the webhook of reprod",
        "生 产",
        "prod and staging",
        "生产还是测试",
        "deploy prod-us",
        "http://prod.example.com/x",
        "cat /srv/prod/x",
        "me@prod",
        "not to prod",
        "don't deploy it to prod",
        "staging instead of prod",
        "don't deploy to prod or staging",
        "不要上线到 prod",
        "别发到生产",
        "除了测试都要",
        "\ud800 \u200b 🤷",
    ],
)
def test_what_is_not_named_or_not_beyond_doubt_is_not_found(text: str) -> None:
    assert found(text) == {}


def test_a_longer_value_goes_before_one_that_is_a_part_of_it() -> None:
    assert found("deploy to prod-eu") == found("deploy to prod eu") == {"env": "prod-eu"}
    assert found("prod-eu and prod") == {}


@pytest.mark.parametrize(
    "text", ["特别是 prod", "分别看测试", "没问题 prod", "no problem, prod", "不要缓存，看 prod"]
)
def test_what_only_looks_like_a_negation_or_negates_something_else_does_no_harm(text: str) -> None:
    assert list(found(text)) == ["env"]


def test_a_value_that_two_parameters_may_have_is_given_to_neither() -> None:
    regions = {"source": {"enum": ["cn", "eu"]}, "target": {"enum": ["cn", "jp"]}}
    assert found("copy to cn", regions) == {}
    assert found("copy to jp", regions) == {"target": "jp"}
    assert found("copy eu, cn", regions) == {}


def test_values_that_cannot_be_told_apart_are_not_found() -> None:
    assert found("compile c", {"language": {"enum": ["C", "C++", "Go"]}}) == {}
    assert found("compile rust", {"language": {"enum": ["C", "C++", "Rust"]}}) == {"language": "Rust"}


@pytest.mark.parametrize(
    "schema",
    [
        {"enum": [1, 2, True, None]},
        {"enum": ["1", "2", "+", "🚀"]},
        {"enum": "1"},
        {"type": "boolean"},
        True,
    ],
)
def test_numbers_and_signs_are_left_to_slots(schema: Any) -> None:
    assert found("1 2 true + 🚀", {"x": schema}) == {}


def test_a_single_character_counts_only_alone() -> None:
    level = {"level": {"enum": ["高", "中"]}}
    assert found("优先级：高", level) == {"level": "高"}
    assert found("中国的高楼", level) == {}


def test_head_and_tail_of_a_long_text_are_read() -> None:
    assert found("prod " + "x " * 400_000) == found("x " * 400_000 + "prod") == {"env": "prod"}
    assert found("x " * 5000 + "prod" + " x" * 5000) == {}
    assert found("not" + " a" * 100_000 + "prod") == {}


def test_a_text_is_told_to_be_another_writing_of_a_value() -> None:
    choices = Choices(TOOLS, readings)
    assert choices.named("env", "PROD_EU") == "prod-eu"
    assert choices.named("env", "web") is None
    assert choices.named("nothing", "prod") is None


@pytest.mark.parametrize(
    "text",
    [
        "restart any but cn",
        "restart web, exclude cn",
        "restart everything minus cn",
        "restart outside cn",
        "restart web; leave cn alone",
        "restart web. cn must stay up",
        "重启 web，cn 先不动",
        "重启所有区域，cn 以外",
        "cn 除外",
        "give us a minute",
        "restart, no rush",
    ],
)
def test_what_is_left_out_or_said_by_the_way_is_no_value(text: str) -> None:
    assert found(text, {"region": {"enum": ["cn", "us", "no"]}}) == {}
