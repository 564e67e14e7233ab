"""How a question reads: for a program in its data, for a person in its digest, in one sentence as an error."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hermes.dispatch import asking
from hermes.dispatch.live import Live
from hermes.host.manifests.parameters import Problem
from hermes.messages import Candidate, Decision, ErrorInfo, ResultEnvelope
from tests.support.house import House

LONG = "很长的说明\n" * 100
TOOLS = [
    {"name": "a.one", "description": "第一件事", "keywords": {"做": 0.9}},
    {"name": "a.two", "description": LONG, "keywords": {"做": 0.9}},
    {"name": "a.three", "keywords": {"做": 0.9}},
]
ONE, TWO, THREE = (Candidate(f"a.{name}", "a", 0.9) for name in ("one", "two", "three"))


@pytest.fixture
async def live(house: House) -> Live:
    """A message in Chinese that may be meant for each of three tools."""
    house.write("a", "", intents=TOOLS)
    house.open()
    return await house.begin("做")


def which(house: House, live: Live, *rivals: Candidate) -> ResultEnvelope:
    assert house.host is not None
    return asking.which(live, rivals, host=house.host)


def error(envelope: ResultEnvelope) -> ErrorInfo:
    assert envelope.error is not None
    return envelope.error


async def test_options_have_their_description_on_one_line_or_their_name(house: House, live: Live) -> None:
    envelope = which(house, live, ONE, TWO, THREE)
    first, second, third = envelope.data["options"]
    assert first == {"n": 1, "intent": "a.one", "label": "第一件事"}
    assert third == {"n": 3, "intent": "a.three", "label": "a.three"}
    assert second["label"].startswith("很长的说明 很长的说明 ")
    assert len(second["label"]) == 200
    assert "\n" not in error(envelope).message
    digest = asking.question_digest(envelope, locale="zh")
    assert digest is not None
    assert digest.split("\n\n")[1].splitlines() == [
        "1. 第一件事",
        f"2. {second['label']}",
        "3. a.three",
    ]


async def test_an_option_that_has_gone_is_still_named(house: House, live: Live) -> None:
    envelope = which(house, live, ONE, Candidate("gone", "x", 0.9))
    assert envelope.data["options"][1]["label"] == "gone"


async def test_a_single_option_is_asked_about_with_the_reason(house: House, live: Live) -> None:
    live.record.decision = Decision("clarify", "", 0.9, (ONE,), "这句话像是在说不要做。")
    envelope = which(house, live, ONE)
    assert envelope.data["question"] == "这句话像是在说不要做。要执行这一个吗？"
    assert error(envelope) == ErrorInfo(
        "clarification_needed", "这句话像是在说不要做。要执行这一个吗？1. 第一件事"
    )
    assert asking.question_digest(envelope, locale="zh") == (
        "这句话像是在说不要做。要执行这一个吗？\n\n1. 第一件事\n\n请回复“是”或“不”。"
    )
    live.locale = "en"
    live.record.decision = Decision("clarify", "", 0.9, (ONE,), "It says not to.")
    assert which(house, live, ONE).data["question"] == "It says not to. Do you mean this one?"


@pytest.mark.parametrize(
    "envelope",
    [
        ResultEnvelope(),
        ResultEnvelope(error=ErrorInfo("no_match", "无法确定")),
        ResultEnvelope(error=ErrorInfo("clarification_needed", "?")),
    ],
)
def test_what_is_no_question_has_no_digest_of_one(envelope: ResultEnvelope) -> None:
    assert asking.question_digest(envelope, locale="en") is None


WANTS = {
    "region": {"description": "要上线到的地区。", "enum": ["cn", "eu"]},
    "version": {"title": "Version"},
    "fast": {"type": "boolean"},
    "plain": {},
    "many": {"enum": [str(number) for number in range(50)]},
}


async def test_what_is_missing_is_asked_for_by_what_it_is_with_what_there_is_to_choose(house: House) -> None:
    house.write("b", "", intents=[{"name": "b", "parameters": {"properties": WANTS}}])
    house.open()
    assert house.host is not None
    target = house.host.find("b")
    assert target is not None
    live = await house.begin("做")
    envelope = asking.missing(live, target, names=list(WANTS))
    assert envelope.data["question"] == (
        "还需要：要上线到的地区（region：cn、eu）；Version（version）；fast（是、否）；plain；many"
    )
    assert envelope.data["missing"] == list(WANTS)
    live.locale = "en"
    misfit = Problem("version", "version must be text, not 1")
    envelope = asking.missing(live, target, names=["version", "fast"], misfits=[misfit])
    assert error(envelope).message == (
        "The parameters do not fit: version must be text, not 1. Still needed: Version (version); fast (yes, no)"
    )
    envelope = asking.missing(live, target, names=[f"p{number}" for number in range(100)])
    assert envelope.data["question"].endswith("p9; …")


async def test_what_is_not_understood_is_told_with_the_nearest_tools(house: House) -> None:
    house.write("a", "", intents=TOOLS)
    house.open()
    nearest = [replace(one, score=0.3) for one in (ONE, TWO, THREE)]
    live = await house.begin("你好")
    assert house.host is not None
    live.record.decision = Decision("no_match", "", 0.3, tuple(nearest))
    told = error(asking.no_match(live, host=house.host)).message
    assert told.startswith(
        "无法确定这句话要用哪个工具。最接近的是：a.one（第一件事）；a.two（很长的说明 很长的说明 "
    )
    assert told.endswith("；a.three。试试 /help。")
    assert len(told) < 200
    for given, expected in (
        ("a.thre", "Cannot tell: there is no intent named a.thre. The nearest are: a.three. Try /help."),
        ("zzz", "Cannot tell: there is no intent named zzz. Try /help."),
    ):
        live = await house.begin(None, given)
        live.locale = "en"
        assert error(asking.no_intent(live, host=house.host)).message == expected
