from __future__ import annotations

import pytest

from hermes.host.http.address import base_of, base_problem, split_address


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("https://a.example/b/{c}", "https://a.example"),
        ("https://a.example?x={y}", "https://a.example"),
        ("https://a.example", "https://a.example"),
        ("https://{x}.a.example/b", "https://{x}.a.example"),
        ("${BASE}/b?to=https://c.example/", "${BASE}"),
        ("${BASE}v1/b", "${BASE}v1"),
        ("https://${HOST}:${PORT}/b", "https://${HOST}:${PORT}"),
        ("a/b?c=https://d.example", "a"),
        ("{x}://a/b", "{x}://a"),
    ],
)
def test_an_address_is_split_behind_its_host(text: str, head: str) -> None:
    assert split_address(text) == (head, text.removeprefix(head))


@pytest.mark.parametrize(
    ("text", "base"),
    [
        ("https://a.example", "https://a.example"),
        ("http://a.example:8080/", "http://a.example:8080"),
        ("HTTPS://A.example/api/v4/", "https://a.example/api/v4"),
        ("http://[::1]:80/x", "http://[::1]:80/x"),
        ("https://例子.example/接口", "https://xn--fsqu00a.example/%E6%8E%A5%E5%8F%A3"),
    ],
)
def test_the_beginning_of_an_address_is_written_as_it_is_sent(text: str, base: str) -> None:
    assert base_of(text) == base


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a.example",
        "//a.example",
        "ftp://a.example",
        "file:///etc/passwd",
        "https://",
        "https:///x",
        "https://user:secret@a.example",
        "https://token@a.example",
        "https://a.example:port",
        "https://a.example:99999",
        "https://a.example\n",
        "https://a.example\\@b.example",
        "https://a example",
        "https://a.example?x=1",
        "https://a.example#x",
        "https://[::1",
    ],
)
def test_what_is_no_beginning_is_refused_without_being_shown(text: str) -> None:
    assert base_problem(text)
    with pytest.raises(ValueError, match="the address") as refused:
        base_of(text)
    assert "secret" not in str(refused.value)


def test_a_host_that_no_dns_knows_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be written as DNS wants it"):
        base_of("https://" + "例" * 70 + ".example")
