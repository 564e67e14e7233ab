"""What people say to the question for missing parameters: their values, and what is none of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.dispatch.answers import Refused
from hermes.dispatch.fillings import Filled, Wanted, read_values
from hermes.host.manifests.manifest import Intent
from hermes.host.manifests.parameters import Parameters

PARAMETERS = Parameters(
    Intent(
        "web.deploy",
        parameters={
            "type": "object",
            "properties": {
                "project": {"type": "string", "title": "项目", "description": "the project's name"},
                "region": {"type": "string", "enum": ["cn", "eu-west"]},
                "count": {"type": "integer", "minimum": 1},
                "dry": {"type": "boolean"},
                "url": {"type": "string", "format": "uri"},
                "说明": {"type": "string"},
            },
        },
        slots={"region": r"(?:到|to)\s*(?P<region>cn|eu-west)", "count": r"(?P<count>\d+)\s*(?:台|copies)"},
    )
)
KEYWORDS = ("部署", "deploy")
Reading = Filled | Refused | None


def read(text: str, *names: str, **how: bool) -> Reading:
    def fits(name: str, given: Any) -> bool:
        return not PARAMETERS.problems({name: given})

    def find(one: str) -> Mapping[str, Any]:
        return PARAMETERS.fill(one, {})

    return read_values(text, Wanted(names, PARAMETERS.properties, find, fits, KEYWORDS), **how)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("project=web", {"project": "web"}),
        ("project = web", {"project": "web"}),
        ("project: web", {"project": "web"}),
        ("Project：web。", {"project": "web"}),
        ("项目：web", {"project": "web"}),
        ("项目是 web", {"project": "web"}),
        ("the project=web", {"project": "web"}),
        ("我的项目：web", {"project": "web"}),
        ("the project's name: web", {"project": "web"}),
        ("说明=第一次上线", {"说明": "第一次上线"}),
        ("project=web region=cn", {"project": "web", "region": "cn"}),
        ("project=web, region=cn", {"project": "web", "region": "cn"}),
        ("项目：web；region：CN", {"project": "web", "region": "cn"}),
        ("project=web\ncount=3", {"project": "web", "count": 3}),
        ('project="a b" region=cn', {"project": "a b", "region": "cn"}),
        ("region=mars", {"region": "mars"}),
        ("count=many", {"count": "many"}),
        ("dry=是", {"dry": True}),
        ("url: https://a.example/?q=1", {"url": "https://a.example/?q=1"}),
    ],
)
def test_a_name_and_its_value_are_always_an_answer(text: str, values: dict[str, Any]) -> None:
    for how in ({}, {"elsewhere": True}, {"restated": True}):
        assert read(text, "project", "region", **how) == Filled(values)


@pytest.mark.parametrize(
    ("text", "name", "given"),
    [
        ("web", "project", "web"),
        ("  web \n", "project", "web"),
        ("“web”", "project", "web"),
        ("web, thanks", "project", "web"),
        ("it's web", "project", "web"),
        ("是 web", "project", "web"),
        ("3", "project", "3"),
        ("首页打不开", "project", "首页打不开"),
        ("my new web project", "project", "my new web project"),
        ("cn", "region", "cn"),
        ("ＣＮ。", "region", "cn"),
        ("eu west", "region", "eu-west"),
        ("到 cn 吧", "region", "cn"),
        ("please bring it to eu-west", "region", "eu-west"),
        ("3", "count", 3),
        ("3 台", "count", 3),
        ("是", "dry", True),
        ("no", "dry", False),
        ("https://a.example/x?q=1", "url", "https://a.example/x?q=1"),
        # a single word that does not fit is an answer all the same, and asked about again
        ("mars", "region", "mars"),
        ("火星", "region", "火星"),
        ("0", "count", 0),
        ("many", "count", "many"),
        ("a.example", "url", "a.example"),
    ],
)
def test_a_single_value_needs_no_name(text: str, name: str, given: Any) -> None:
    assert read(text, name) == Filled({name: given})


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ("project",)),
        ("  ", ("project",)),
        ("🤷", ("project",)),
        ("/help", ("project",)),
        ("/web.deploy project=web", ("project",)),
        ("哪些项目？", ("project",)),
        ("which projects are there?", ("project",)),
        ("web\ncn", ("project",)),
        ("x" * 201, ("project",)),
        ("web cn", ("project", "region")),
        ("web", ("project", "region")),
        ("今天天气怎么样", ("region",)),
        ("what is the weather", ("count",)),
        ("https://a.example", ("project", "region")),
    ],
)
def test_what_could_be_anything_is_no_answer(text: str, names: tuple[str, ...]) -> None:
    assert read(text, *names) is None


def test_what_slots_find_is_an_answer_if_any_of_it_was_asked_for() -> None:
    assert read("3 台，到 cn", "project", "region") == Filled({"region": "cn", "count": "3"} | {"count": 3})
    assert read("3 台", "project", "region") is None
    assert read("web 3 copies", "project") == Filled({"project": "web 3 copies", "count": 3})


@pytest.mark.parametrize("text", ["算了", "不用了", "never mind", "cancel", "No."])
def test_a_refusal_gives_nothing(text: str) -> None:
    assert read(text, "project") == read(text, "project", "region") == Refused()


def test_a_text_for_another_tool_is_no_value() -> None:
    assert read("web", "project", elsewhere=True) is None
    assert read("算了", "project", elsewhere=True) is None
    assert read("到 cn", "region", elsewhere=True) is None


def test_what_says_the_same_once_more_is_a_value_only_if_it_is_a_word_that_is_no_keyword() -> None:
    assert read("deploy", "project", restated=True) is None
    assert read("请部署", "project", restated=True) is None
    assert read("deploy the web", "project", restated=True) is None
    assert read("web-deploy", "project", restated=True) == Filled({"project": "web-deploy"})
    assert read("部署到 cn", "region", restated=True) == Filled({"region": "cn"})


@given(st.text(), st.lists(st.sampled_from(sorted(PARAMETERS.properties)), unique=True))
def test_any_text_can_be_read(text: str, names: list[str]) -> None:
    assert isinstance(read(text, *names), Filled | Refused | None)


@pytest.mark.parametrize(
    "text", ["别部署", "hold on", "为什么", "I don't know", "yes", "help", "先别", "web 吗"]
)
def test_where_a_write_would_run_unasked_a_doubtful_text_is_no_value(text: str) -> None:
    def find(one: str) -> Mapping[str, Any]:
        return PARAMETERS.fill(one, {})

    wanted = Wanted(
        ("project",), PARAMETERS.properties, find, lambda _name, _given: True, KEYWORDS, careful=True
    )
    assert not isinstance(read_values(text, wanted), Filled)
    assert read_values("web", wanted) == Filled({"project": "web"})


@pytest.mark.parametrize("text", ["any but cn", "skip cn", "cn 除外", "cn不行", "is cn safe", "cn 还是别的"])
def test_an_option_that_is_left_out_or_asked_about_is_none(text: str) -> None:
    assert read(text, "region") is None or read(text, "region") == Filled({"region": text})


def test_two_values_for_one_parameter_are_no_answer() -> None:
    assert read("region=cn region=eu-west", "region") is None
