from __future__ import annotations

import pytest

from hermes.config.validation import InvalidPart
from hermes.host.manifests.slots import Slots

PROJECT = r"(?:project|项目)[\s:：]+(?P<project>[\w.\p{Han}-]+)"


@pytest.mark.parametrize(
    ("text", "project"),
    [
        ("did project web-2 pass", "web-2"),
        ("项目 web 的流水线", "web"),
        ("看一下项目：支付", "支付"),
        ("ｐｒｏｊｅｃｔ　ｗｅｂ", "web"),
        ("🚀 project web 🚀", "web"),
    ],
)
def test_a_named_group_finds_a_parameter_in_chinese_and_english(text: str, project: str) -> None:
    assert Slots({"project": PROJECT}).find(text) == {"project": project}


def test_what_is_not_in_the_text_is_left_out() -> None:
    slots = Slots({"range": r"from (?P<start>\d+)(?: to (?P<end>\d+))?", "empty": r"(?P<nothing>x*)"})
    assert slots.find("from 3") == {"start": "3"}
    assert slots.find("from 3 to 5") == {"start": "3", "end": "5"}
    assert slots.find("") == {}


def test_the_text_as_it_was_written_comes_before_its_half_width_form() -> None:
    assert Slots({"a": r"(?P<a>\d+|１+)"}).find("１１ 22") == {"a": "１１"}


def test_a_text_that_would_stop_a_backtracking_engine_does_no_harm() -> None:
    assert Slots({"a": r"^(?P<a>(x+)+)$"}).find("x" * 5000 + "!") == {}


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(?=x)", "is refused by RE2: invalid perl operator: (?="),
        ("(", "is refused by RE2: missing ): ("),
        (r"project (\w+)", "has no named group; write (?P<项目>…)"),
    ],
)
def test_a_pattern_that_cannot_work_is_refused_by_name_and_reason(pattern: str, reason: str) -> None:
    with pytest.raises(InvalidPart) as raised:
        Slots({"fine": "(?P<x>x)", "项目": pattern})
    assert reason in str(raised.value)
    assert raised.value.path == ("项目",)
