from __future__ import annotations

import pytest

from hermes.host.http.charsets import utf8_of

CITY = "上海 晴 21°"


def read(content: bytes, charset: str | None) -> tuple[str, bool]:
    found, whole = utf8_of(content, charset)
    return found.decode(), whole


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("utf-8", "UTF-8"),
        ("utf-8", '"utf8"'),
        ("gbk", "GBK"),
        ("gb18030", "gb2312"),
        ("big5", "Big5"),
        ("utf-16-le", "UTF-16LE"),
        ("utf-16-be", "utf-16be"),
        ("utf-32-le", "utf-32-le"),
        ("utf-16", None),
        ("utf-32", None),
        ("utf-8-sig", None),
    ],
)
def test_what_is_in_the_set_it_says_or_is_marked_with_is_read_whole(name: str, said: str | None) -> None:
    text = "上海" if name == "big5" else CITY
    assert read(text.encode(name), said) == (text, True)


@pytest.mark.parametrize("said", ["utf-16", "UTF-16"])
@pytest.mark.parametrize("order", ["le", "be"])
def test_the_byte_order_of_json_without_a_mark_is_found(said: str, order: str) -> None:
    text = f'{{"city": "{CITY}"}}'
    assert read(text.encode(f"utf-16-{order}"), said) == (text, True)


@pytest.mark.parametrize(
    "said", ["ISO-8859-1", "us-ascii", "windows-1252", "gbk", "gb2312", "big5", "shift_jis"]
)
def test_utf8_under_another_name_is_read_as_what_it_is(said: str) -> None:
    assert read(CITY.encode(), said) == (CITY, True)
    assert read("café".encode(), "latin-1") == ("café", True)


@pytest.mark.parametrize("said", ["utf-16", "utf-32"])
def test_json_in_utf8_is_not_taken_for_a_wide_set(said: str) -> None:
    assert read(b' {"a": "\xe4\xb8\x8a"} ', said) == (' {"a": "上"} ', True)


def test_a_short_text_that_would_be_utf8_too_is_read_in_the_set_it_says() -> None:
    assert "一".encode("gbk").decode() == "һ"
    assert read("一".encode("gbk"), "gbk") == ("一", True)


def test_what_is_called_latin_1_may_have_the_signs_of_windows() -> None:
    assert read(b"\x93caf\xe9\x94 \x80 5", "iso-8859-1") == ("“café” € 5", True)
    assert read(b"caf\xe9", "ascii") == ("café", True)


@pytest.mark.parametrize(
    "said",
    [
        "no-such",
        "",
        "hex",
        "base64",
        "zlib",
        "rot13",
        "idna",
        "undefined",
        "unicode_escape",
        "x" * 500,
        "u\0tf",
    ],
)
def test_a_name_that_is_no_character_set_counts_as_none(said: str) -> None:
    assert read(CITY.encode(), said) == (CITY, True)
    assert read(b"\\u4e0a", said) == ("\\u4e0a", True)


@pytest.mark.parametrize(
    ("content", "said", "text"),
    [
        (b"ab\xffcd", None, "ab\ufffdcd"),
        (b"ab\xffcd", "utf-8", "ab\ufffdcd"),
        (b"a\x00b", "utf-16le", "a\ufffd"),
        (b"\xff\xfea\x00\x00\xd8", None, "a\ufffd"),
    ],
)
def test_what_cannot_be_read_is_replaced_and_told(content: bytes, said: str | None, text: str) -> None:
    assert read(content, said) == (text, False)


def test_an_empty_content_is_empty_in_any_set() -> None:
    for said in (None, "utf-8", "utf-16", "gbk", "hex"):
        assert read(b"", said) == ("", True)
