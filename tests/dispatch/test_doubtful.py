from __future__ import annotations

import pytest

from hermes.dispatch.doubtful import is_doubtful


@pytest.mark.parametrize(
    "text",
    [
        "别清空", "不要清空", "取消清空", "我不想清空了", "don't purge", "hold on", "wait", "为什么", "哪个", "which one", "不知道",
        "i don't know", "help", "yes", "好", "later", "先别", "停下", "搞错了", "退出", "no way", "prod?", "is cn safe", "should it be cn",
        "cn 还是别的", "cn 是什么", "any but cn", "other than cn", "skip cn", "cn 除外", "cn 以外", "cn不行", "cn isn't it", "cn 就算了",
        "give us a minute", "別動 cn", "等等",
    ],
)  # fmt: skip
def test_a_no_a_question_a_yes_or_a_wait_is_doubtful(text: str) -> None:
    assert is_doubtful(text)


@pytest.mark.parametrize(
    "text",
    [
        "web",
        "cn",
        "group/web",
        "v2.1",
        "网站",
        "数据库",
        "the web service",
        "订单系统",
        "2026-12-01",
        "Ada 王",
    ],
)
def test_the_plain_naming_of_a_value_is_not(text: str) -> None:
    assert not is_doubtful(text)
