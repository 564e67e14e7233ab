from __future__ import annotations

import pytest

from hermes.routing.folding import is_cjk
from hermes.routing.lexicon import IntentEntry, Lexicon
from hermes.routing.lookalikes import is_crossed, ordinary_words
from hermes.routing.simplified import simplified


def matched(text: str, *keywords: str) -> set[str]:
    lexicon = Lexicon([IntentEntry("i", "p", dict.fromkeys(keywords, 0.8))])
    return {match.keyword for match in lexicon.match(text).get(0, [])}


@pytest.mark.parametrize(
    ("keyword", "text"),
    [
        ("日志", "今日志愿者名单"),
        ("日志", "今日志願者名單"),
        ("日誌", "今日志愿者名单"),
        ("日志", "有今日志愿者吗，明日志愿者呢"),
        ("天气", "今天气温多少"),
        ("天氣", "今天氣溫多少"),
        ("会员", "他约会员工"),
        ("发表", "研发表示没问题"),
        ("应用", "反应用户很多"),
        ("国会", "中国会议"),
        ("分期", "部分期间"),
    ],
)
def test_where_two_ordinary_words_meet_there_is_no_keyword(keyword: str, text: str) -> None:
    assert matched(text, keyword) == set()


@pytest.mark.parametrize(
    ("keyword", "text"),
    [
        ("日志", "构建日志"),
        ("日志", "查日志文件"),
        ("日志", "今天的日志"),
        ("日志", "今日日志"),
        ("日志", "日志愿者"),
        ("日志", "今日志"),
        ("日志", "今日，志愿者的日志"),
        ("日志", "今日志愿者要看日志"),
        ("日志", "今日web志愿者日志"),
        ("今日志", "今日志愿者"),
        ("今日志愿者", "今日志愿者名单"),
        ("志愿者", "今日志愿者名单"),
        ("流水线", "看看流水线状态"),
        ("构建", "重新构建一下"),
        ("工单", "建个工单给运维"),
        ("数据库", "查询数据库里的用户"),
        ("大学", "北京大学生活"),
        ("磁盘", "这台机器磁盘满了"),
        ("重启", "帮我重启服务器"),
        ("日志web", "今日志web"),
    ],
)
def test_a_keyword_beside_other_words_is_found(keyword: str, text: str) -> None:
    assert matched(text, keyword) == {keyword}


def test_a_keyword_that_is_blocked_leaves_those_that_overlap_it() -> None:
    assert matched("今日志愿者名单", "日志", "日志愿", "今日", "志愿者", "名单") == {"今日", "志愿者", "名单"}


@pytest.mark.parametrize(
    ("keyword", "text"), [("网", "网球"), ("查", "查询"), ("表", "数据表里"), ("跑", "在跑吗")]
)
def test_a_keyword_of_one_character_is_found_in_every_word_that_holds_it(keyword: str, text: str) -> None:
    assert matched(text, keyword) == {keyword}


@pytest.mark.parametrize(
    ("text", "start", "crossed"),
    [(" 今日志愿者 ", 2, True), (" 今日志 ", 2, False), (" 日志愿者 ", 1, False), (" 看日志吧 ", 2, False)],
)
def test_both_words_have_to_reach_beyond(text: str, start: int, *, crossed: bool) -> None:
    assert is_crossed(text, start, end=start + 2, words=ordinary_words()) is crossed


def test_the_words_are_chinese_folded_and_short() -> None:
    words = set(ordinary_words())
    assert len(words) > 20_000
    assert {"今日", "志愿者"} < words
    assert all(len(word) in {2, 3} and all(map(is_cjk, word)) for word in words)
    assert all(simplified(word) == word for word in words)
