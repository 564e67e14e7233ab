"""What people say to the question which tool is meant: what is an answer, and above all what is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.dispatch.answers import Chosen, Offer, Refused, Unclear, read_choice

STATUS = Offer(
    "ci.pipeline.status",
    "看流水线的状态 / Show the last pipeline of a project",
    "gitlab-pipeline",
    ("流水线", "pipeline", "构建", "build"),
)
LOG = Offer(
    "log.show", "拉取构建日志 / Fetch the logs of a build", "build-log", ("日志", "log", "构建", "build")
)
RESTART = Offer("server.restart", "重启服务器 / Restart a server", "servers", ("重启", "restart"))
TWO = (STATUS, LOG)
REFUSED, UNCLEAR = Refused(), Unclear()

ANSWERS: list[tuple[str, int]] = [
    # numbers
    ("1", 1),
    ("2", 2),
    (" 2 ", 2),
    ("１", 1),
    ("２。", 2),
    ("①", 1),
    ("②", 2),
    ("1️⃣", 1),
    ("1.", 1),
    ("1)", 1),
    ("（2）", 2),
    ("#2", 2),
    ("No. 2", 2),
    ("一", 1),
    ("二", 2),
    ("第一个", 1),
    ("第二个", 2),
    ("第 2 个", 2),
    ("第二", 2),
    ("第二项吧", 2),
    ("第二個", 2),
    ("我選第一個，謝謝", 1),
    ("2号", 2),
    ("选2", 2),
    ("选一", 1),
    ("我选第二个，谢谢", 2),
    ("那就第一个吧", 1),
    ("选项二", 2),
    ("最后一个", 2),
    ("前者", 1),
    ("后者", 2),
    ("two", 2),
    ("Two, please", 2),
    ("second", 2),
    ("the second one", 2),
    ("2nd", 2),
    ("the 1st one please", 1),
    ("option 1", 1),
    ("number two", 2),
    ("the last one", 2),
    ("the former", 1),
    ("latter", 2),
    ("I'd like the second", 2),
    # names
    ("log.show", 2),
    ("LOG SHOW", 2),
    ("ci.pipeline.status", 1),
    ("build-log", 2),
    ("BuildLog", 2),
    ("gitlab-pipeline", 1),
    ("拉取构建日志 / Fetch the logs of a build", 2),
    ("看流水线的状态 / show the last pipeline of a project！", 1),
    # words
    ("日志", 2),
    ("看日志", 2),
    ("那个日志", 2),
    ("那個日志", 2),
    ("日志那个", 2),
    ("我要日志，谢谢", 2),
    ("拉取日志", 2),
    ("logs", 2),
    ("the logs please", 2),
    ("the one with the logs", 2),
    ("流水线", 1),
    ("流水线的状态", 1),
    ("请看流水线", 1),
    ("the pipeline", 1),
    ("the last pipeline", 1),  # of the second there is no pipeline
    ("第二个日志", 2),
]

OTHERS: list[str] = [
    # empty or nothing
    "",
    "   ",
    "🤷",
    "\u200f\u200b",
    "？",
    # commands
    "/help",
    "/1",
    "／log.show",
    # numbers that are no number of an option
    "1.5",
    "-1",
    "+1",
    "1/2",
    "50%",
    "$2",
    "1-2",
    "1和2",
    "1 2",
    "1, 2",
    "2个",
    "两个",
    "一个",
    "一下",
    "看一下",
    "2点",
    "二楼",
    "2024",
    "the one",
    "the two",
    "these two",
    "both",
    "两个都要",
    # something is asked
    "第二个？",
    "2?",
    "哪个日志？",
    # what fits both, or says more
    "构建",
    "build",
    "构建构建",
    "第一个日志",
    "the second pipeline",
    "日志和流水线",
    "日志和今天的天气",
    "今日志愿者",
    # negated
    "不要日志",
    "不是日志，是流水线",
    "not the logs",
    "no, the second one",
    "别看日志",
    "2 以外的",
    # other requests
    "今天天气怎么样",
    "重启服务器",
    "deploy web to production",
    "no problem",
    "no one",
    "好的，重启一下服务器",
    "catalog",
    "流" * 2000,
]

REFUSALS = [
    "算了",
    "算了吧",
    "那算了",
    "不用了",
    "不用了，谢谢",
    "不",
    "不要",
    "不是",
    "都不是",
    "以上都不是。",
    "取消",
    "没事了",
    "沒事了",
    "不選了",
    "别",
    "never mind",
    "Never mind!",
    "nevermind",
    "no",
    "No, thanks",
    "NO THANK YOU",
    "nope",
    "cancel",
    "cancel that please",
    "forget it",
    "none of them",
    "neither",
    "don't",
    "stop",
]


@pytest.mark.parametrize(("text", "n"), ANSWERS)
def test_a_number_a_name_or_words_of_one_option_alone_choose_it(text: str, n: int) -> None:
    assert read_choice(text, TWO) == Chosen(n)


@pytest.mark.parametrize("text", OTHERS)
def test_whatever_else_is_said_is_no_answer(text: str) -> None:
    assert read_choice(text, TWO) is None


@pytest.mark.parametrize("text", REFUSALS)
@pytest.mark.parametrize("offers", [TWO, (RESTART,)])
def test_a_refusal_wants_none_of_them(text: str, offers: tuple[Offer, ...]) -> None:
    assert read_choice(text, offers) == REFUSED


@pytest.mark.parametrize(
    "text",
    [
        "是",
        "是的",
        "对",
        "好的",
        "要",
        "可以",
        "嗯嗯",
        "确认",
        "就这个",
        "yes",
        "Yes please",
        "ok",
        "do it",
        "sure",
    ],
)
def test_a_yes_chooses_the_only_one_and_tells_nothing_of_several(text: str) -> None:
    assert read_choice(text, (RESTART,)) == Chosen(1)
    assert read_choice(text, TWO) == UNCLEAR


@pytest.mark.parametrize("text", ["3", "第五个", "7.", "the third one", "20"])
def test_a_number_that_no_option_has_tells_nothing(text: str) -> None:
    assert read_choice(text, TWO) == UNCLEAR


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        ("1", Chosen(1)),
        ("重启", Chosen(1)),
        ("server.restart", Chosen(1)),
        ("restart the server please", Chosen(1)),
        ("2", UNCLEAR),
        ("不要重启", None),
        ("别重启了", None),
        ("don't restart", None),
        ("重启？", None),
        ("看日志", None),
    ],
)
def test_the_only_option_is_chosen_like_one_of_many(text: str, reading: object) -> None:
    assert read_choice(text, (RESTART,)) == reading


def test_a_name_that_two_options_have_chooses_neither() -> None:
    offers = (Offer("ci.start", "", "ci"), Offer("ci.stop", "", "ci"))
    assert read_choice("ci", offers) is None
    assert read_choice("ci.stop", offers) == read_choice("ci stop", offers) == Chosen(2)


def test_a_number_in_a_name_does_not_take_the_place_of_that_number() -> None:
    offers = (Offer("a", "2 号机房"), Offer("b", "1 号机房"))
    assert read_choice("2", offers) == Chosen(2)
    assert read_choice("2 号机房", offers) == Chosen(1)


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    assert isinstance(read_choice(text, TWO), Chosen | Refused | Unclear | None)


@given(st.text(), st.text(), st.text())
def test_any_names_can_be_read(text: str, intent: str, label: str) -> None:
    assert isinstance(read_choice(text, (Offer(intent, label), LOG)), Chosen | Refused | Unclear | None)
