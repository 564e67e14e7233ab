from __future__ import annotations

from typing import Any

import pytest

from hermes.config.validation import InvalidPart
from hermes.host.manifests.manifest import Intent
from hermes.host.manifests.parameters import Parameters, Problem
from hermes.routing.folding import readings

PIPELINE = Parameters(
    Intent(
        "ci.pipeline.status",
        parameters={
            "type": "object",
            "properties": {
                "project": {"type": "string"},
                "count": {"type": "integer", "minimum": 1},
                "failed": {"type": "boolean"},
            },
            "required": ["project"],
            "additionalProperties": False,
        },
        slots={
            "project": r"(?:project|项目)\s+(?P<project>[\w.-]+)",
            "count": r"(?:last|最近)\s*(?P<count>\d+)",
        },
    )
)


def test_slots_fill_what_the_payload_lacks_in_the_type_of_the_schema() -> None:
    assert PIPELINE.fill("项目 web 最近 3 次", {}) == {"project": "web", "count": 3}
    assert PIPELINE.fill("last 5 of project api", {"failed": True}) == {
        "project": "api",
        "count": 5,
        "failed": True,
    }


def test_full_width_letters_and_numbers_fill_slots_too() -> None:
    assert PIPELINE.fill("项目　ｗｅｂ 最近３次", {}) == {"project": "web", "count": 3}


def test_the_payload_wins_over_the_text_even_with_null() -> None:
    assert PIPELINE.fill("project web", {"project": "api"}) == {"project": "api"}
    assert PIPELINE.fill("project web", {"project": None}) == {"project": None}


@pytest.mark.parametrize("text", [None, "", "天气怎么样"])
def test_without_a_find_the_payload_stays_as_it_is(text: str | None) -> None:
    assert PIPELINE.fill(text, {"text": "x"}) == {"text": "x"}


def test_filling_leaves_the_given_payload_alone() -> None:
    payload: dict[str, Any] = {}
    PIPELINE.fill("project web", payload)
    assert payload == {}


def test_every_missing_and_wrong_parameter_is_named_in_both_languages() -> None:
    assert PIPELINE.problems({"count": "x"}) == [
        Problem("count", 'count must be a whole number, not "x"'),
        Problem("project", "project is missing", missing=True),
    ]
    assert PIPELINE.problems({"count": "x"}, locale="zh") == [
        Problem("count", 'count 必须是整数，现在是 "x"'),
        Problem("project", "缺少参数 project", missing=True),
    ]


def test_the_free_text_is_no_unknown_parameter() -> None:
    assert PIPELINE.problems({"project": "web", "text": "项目 web"}) == []


def test_the_free_text_counts_when_the_schema_names_it() -> None:
    named = Parameters(Intent("say", parameters={"properties": {"text": {"type": "string", "maxLength": 2}}}))
    assert named.problems({"text": "三个字"})[0].field == "text"
    required = Parameters(Intent("say", parameters={"required": ["text"]}))
    assert required.problems({"text": ""}) == []
    assert required.problems({}) == [Problem("text", "text is missing", missing=True)]


def test_an_intent_without_parameters_takes_anything() -> None:
    free = Parameters(Intent("echo"))
    assert free.problems({"a": [1, {"b": None}], "text": "🚀"}) == []
    assert free.fill("🚀", {"a": 1}) == {"a": 1}


def test_an_intent_that_cannot_be_compiled_is_refused() -> None:
    with pytest.raises(InvalidPart):
        Parameters(Intent("a", parameters={"type": "objekt"}))
    with pytest.raises(InvalidPart):
        Parameters(Intent("a", slots={"x": "("}))


DEPLOY = Parameters(
    Intent(
        "deploy",
        parameters={
            "properties": {
                "region": {"enum": ["cn", "eu-west"]},
                "mode": {"type": "string", "enum": ["fast", "slow"]},
                "count": {"enum": [1, 2, 3]},
            }
        },
        slots={"region": r"(?:到|to)\s*(?P<region>[\w-]+)", "count": r"(?P<count>\d+)\s*(?:times|次)"},
    ),
    fold=readings,
)


@pytest.mark.parametrize(
    ("text", "payload", "filled"),
    [
        ("deploy fast in eu west", {}, {"region": "eu-west", "mode": "fast"}),
        ("用slow模式上线到 CN，2次", {}, {"region": "cn", "mode": "slow", "count": 2}),
        ("deploy to EU_WEST 3 times", {}, {"region": "eu-west", "count": 3}),
        ("上线到 us，不是 cn", {}, {"region": "us"}),
        ("fast or slow", {}, {}),
        ("not fast", {}, {}),
        ("deploy fast", {"mode": None}, {"mode": None}),
        ("deploy fast", {"mode": "slow", "text": "deploy fast"}, {"mode": "slow", "text": "deploy fast"}),
        ("count 2", {}, {}),
        (None, {"a": 1}, {"a": 1}),
    ],
)
def test_values_of_a_list_are_taken_from_the_text_after_what_slots_find(
    text: str | None, payload: dict[str, Any], filled: dict[str, Any]
) -> None:
    assert DEPLOY.fill(text, payload) == filled
