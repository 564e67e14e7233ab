from __future__ import annotations

import pytest

from hermes.host.http.templates import Absent, Template


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("", ""),
        ("plain", "plain"),
        ("{city}", "上海"),
        ("{城市} and {city}", "北京 and 上海"),
        ("{n}/{flag}/{list}", '3/true/["甲",1]'),
        ("{{city}} {city}", "{city} 上海"),
        ("{ user { name } }", "{ user { name } }"),
        ("{1}{}{a b}", "{1}{}{a b}"),
        ("${TOKEN}{city}", "t-{city}上海"),
        ("$city {city", "$city {city"),
        ("{with-dash}", "x"),
    ],
)
def test_places_are_filled_and_the_rest_is_left(text: str, filled: str) -> None:
    payload = {"city": "上海", "城市": "北京", "n": 3, "flag": True, "list": ["甲", 1], "with-dash": "x"}
    template = Template(text).bind({"TOKEN": "t-{city}"})
    assert template.fill(payload) == filled


def test_each_value_is_encoded_and_plain_text_is_not() -> None:
    template = Template("a/{x}/${V}").bind(
        {"V": "b"}, encode=str.upper, literal=lambda text: text.replace("a", "A")
    )
    assert template.fill({"x": "y"}, encode=lambda text: f"<{text}>") == "A/<y>/B"


@pytest.mark.parametrize("payload", [{}, {"x": None}, {"y": 1}])
def test_what_is_absent_or_null_is_told_by_its_name(payload: dict[str, object]) -> None:
    with pytest.raises(Absent) as absent:
        Template("a {x}").fill(payload)
    assert absent.value.field == "x"


def test_places_are_known_by_name() -> None:
    template = Template("${A}/{b}/{{c}}/${D}{e}")
    assert template.fields == ("b", "e")
    assert template.variables == ("A", "D")
    assert template.whole is None
    assert Template("{b}").whole == "b"
    assert Template("{b} ").whole is None
    assert Template("${b}").whole is None


def test_a_variable_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError):
        Template("${A}").bind({})
