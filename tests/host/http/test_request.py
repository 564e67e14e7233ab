from __future__ import annotations

import json
from typing import Any

import pytest

from hermes.host.http.options import HttpFile
from hermes.host.http.request import Outgoing, RequestTemplate, Unfit

VARIABLES = {"BASE": "https://b.example/api/", "TOKEN": "t/&=秘", "HOST": "h.example:8443"}


def fill(payload: dict[str, Any], url: str = "https://a.example/x", **keys: Any) -> Outgoing:
    return RequestTemplate(HttpFile(url=url, **keys), VARIABLES).fill(payload)


@pytest.mark.parametrize(
    ("url", "payload", "sent"),
    [
        (
            "https://a.example/{city}",
            {"city": "上海 浦东"},
            "https://a.example/%E4%B8%8A%E6%B5%B7%20%E6%B5%A6%E4%B8%9C",
        ),
        (
            "https://a.example/{x}/b",
            {"x": "a/b?c#d&e=f:g@h;i%2F"},
            "https://a.example/a%2Fb%3Fc%23d%26e%3Df%3Ag%40h%3Bi%252F/b",
        ),
        ("https://a.example/v-{n}.json", {"n": 3}, "https://a.example/v-3.json"),
        ("https://a.example/{ok}", {"ok": True}, "https://a.example/true"),
        ("https://a.example/天气/a b", {}, "https://a.example/%E5%A4%A9%E6%B0%94/a%20b"),
        ("https://a.example/a%20b/~x?y=%2F", {}, "https://a.example/a%20b/~x?y=%2F"),
        ("https://a.example", {}, "https://a.example"),
        ("https://a.example?q={q}", {"q": "甲&x=1"}, "https://a.example?q=%E7%94%B2%26x%3D1"),
        ("https://a.example/?q={q}&n={n}&fixed=1", {"n": 2}, "https://a.example/?n=2&fixed=1"),
        ("https://a.example/?q={q}", {"q": None}, "https://a.example/"),
        ("https://a.example/?q={a}-{b}&c", {"a": 1}, "https://a.example/?c"),
        ("https://a.example/?t={t}", {"t": ["甲", "b&c", 3]}, "https://a.example/?t=%E7%94%B2&t=b%26c&t=3"),
        ("https://a.example/?t={t}", {"t": []}, "https://a.example/"),
        ("https://a.example/?t={t}", {"t": {"a": 1}}, "https://a.example/?t=%7B%22a%22%3A1%7D"),
        ("https://a.example/?{k}=1", {"k": "a=b"}, "https://a.example/?a%3Db=1"),
        ("https://a.example/?q={q}", {"q": ""}, "https://a.example/?q="),
        ("${BASE}/x/{n}", {"n": 1}, "https://b.example/api/x/1"),
        ("${BASE}", {}, "https://b.example/api"),
        ("https://${HOST}/x?key=${TOKEN}", {}, "https://h.example:8443/x?key=t%2F%26%3D%E7%A7%98"),
        ("https://a.example/${TOKEN}/x", {}, "https://a.example/t%2F%26%3D%E7%A7%98/x"),
    ],
)
def test_a_payload_is_put_into_an_address_and_cannot_leave_its_place(
    url: str, payload: dict[str, Any], sent: str
) -> None:
    assert fill(payload, url).url == sent


@pytest.mark.parametrize(
    "value",
    ["..", ".", "", "../admin", "a/../../b", "..\\admin", "%2e%2e/..", ["a"], {"a": 1}, None],
)
def test_a_payload_cannot_walk_through_the_path(value: Any) -> None:
    with pytest.raises(Unfit) as unfit:
        fill({"id": value}, "https://a.example/users/{id}")
    assert unfit.value.field == "id"


def test_dots_that_make_no_step_are_fine() -> None:
    assert fill({"id": "..."}, "https://a.example/{id}").url == "https://a.example/..."
    assert fill({"id": ".."}, "https://a.example/v{id}").url == "https://a.example/v.."
    assert fill({"id": ".."}, "https://a.example/?id={id}").url == "https://a.example/?id=.."
    with pytest.raises(Unfit):
        fill({"a": ".", "b": "."}, "https://a.example/{a}{b}")


def test_what_the_path_needs_must_be_there() -> None:
    with pytest.raises(Unfit) as unfit:
        fill({}, "https://a.example/{city}/today")
    assert (unfit.value.reason, unfit.value.field) == ("absent", "city")


def test_a_body_keeps_types_fills_texts_and_leaves_out_what_is_absent() -> None:
    body = {
        "title": "{title}",
        "count": "{count}",
        "null": "{null}",
        "tags": ["{tag}", "{none}", "固定", 3, None],
        "note": "来自 {who}: {title}",
        "lost": "x {none}",
        "nested": {"deep": {"list": "{list}", "none": "{none}"}},
        "key": "${TOKEN}",
        "literal": "{{title}}",
        "{title}": 1,
    }
    payload = {"title": "停机", "count": 3, "null": None, "tag": "a", "who": "小王", "list": [1, {"b": 2}]}
    outgoing = fill(payload, method="POST", body=body)
    assert json.loads(outgoing.body or b"") == {
        "title": "停机",
        "count": 3,
        "null": None,
        "tags": ["a", "固定", 3, None],
        "note": "来自 小王: 停机",
        "nested": {"deep": {"list": [1, {"b": 2}]}},
        "key": "t/&=秘",
        "literal": "{title}",
        "{title}": 1,
    }
    assert outgoing.method == "POST"


def test_a_body_that_is_nothing_but_a_place_is_the_member_itself() -> None:
    assert fill({"x": [1]}, method="PUT", body="{x}").body == b"[1]"
    with pytest.raises(Unfit) as unfit:
        fill({}, method="PUT", body="{x}")
    assert (unfit.value.reason, unfit.value.field) == ("absent", "x")
    assert fill({"x": 1}).body is None


def test_a_value_is_never_searched_for_places_again() -> None:
    outgoing = fill(
        {"x": "${TOKEN}{y}", "y": "no"}, "https://a.example/?x={x}", method="POST", body={"x": "{x}"}
    )
    assert outgoing.url == "https://a.example/?x=%24%7BTOKEN%7D%7By%7D"
    assert json.loads(outgoing.body or b"") == {"x": "${TOKEN}{y}"}


def test_headers_take_variables_and_members_and_drop_what_is_absent() -> None:
    headers = {"Authorization": "Bearer ${TOKEN}", "X-Who": "{who}", "X-None": "{none}"}
    assert fill({"who": " 小王 "}, headers=headers).headers == {
        "Authorization": "Bearer t/&=秘",
        "X-Who": "小王",
    }


@pytest.mark.parametrize("value", ["a\r\nX-Admin: 1", "a\nb", "a\0b", "a\x7fb", "a\x1bb"])
def test_no_header_can_be_smuggled_in(value: str) -> None:
    with pytest.raises(Unfit) as unfit:
        fill({"who": value}, headers={"X-Who": "x {who}"})
    assert (unfit.value.reason, unfit.value.field) == ("header", "who")


@pytest.mark.parametrize("base", ["", "ftp://x", "https://user:geheim@x", "https://x?y", "not an address"])
def test_a_variable_that_makes_no_address_is_refused_without_being_shown(base: str) -> None:
    with pytest.raises(ValueError, match="the address") as refused:
        RequestTemplate(HttpFile(url="${BASE}/x"), {"BASE": base})
    assert "geheim" not in str(refused.value)
