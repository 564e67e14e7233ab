from __future__ import annotations

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.strict_json import exceeds_64_bits

SMALLEST, LARGEST = -(2**63), 2**64 - 1
edges = [st.integers(edge - 3, edge + 3) for edge in (SMALLEST, LARGEST, 10**18, -(10**18))]
numbers = st.one_of(st.integers(-(2**70), 2**70), *edges)
texts = st.text() | numbers.map(str) | numbers.map(lambda number: f", {number}, ")
values = st.recursive(
    numbers | texts | st.floats(allow_nan=False, allow_infinity=False) | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


def has_exact_integers(value: object) -> bool:
    if isinstance(value, dict):
        return all(map(has_exact_integers, value.values()))
    if isinstance(value, list):
        return all(map(has_exact_integers, value))
    return not isinstance(value, int) or SMALLEST <= value <= LARGEST


@given(st.lists(values, max_size=4), st.sampled_from([None, 1]), st.booleans())
def test_invariant_an_integer_is_found_wherever_it_stands_and_no_text_or_float_is_taken_for_one(
    value: list[object], indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "replace")
    assert exceeds_64_bits(text) is not has_exact_integers(value)


@given(values)
def test_invariant_what_passes_is_read_without_loss(value: object) -> None:
    text = json.dumps({"value": value}).encode()
    if "\\ud" not in text.decode() and not exceeds_64_bits(text):
        assert orjson.loads(text) == {"value": value}


@pytest.mark.parametrize(
    "text",
    [
        b"[18446744073709551615, -9223372036854775808]",
        b"[0.123456789012345678901234567890, 123456789012345678901234567890.5]",
        b"[12345678901234567890123e5, -12345678901234567890123E-5]",
        b'{"order 18446744073709551616": ": 18446744073709551616, -99999999999999999999"}',
    ],
)
def test_floats_and_texts_may_have_any_number_of_digits(text: bytes) -> None:
    assert not exceeds_64_bits(text)


@pytest.mark.parametrize(
    "text", [b"[18446744073709551616]", b'{"n":-9223372036854775809}', b"[\n1" + b"0" * 9000 + b"]"]
)
def test_one_more_or_thousands_of_digits_more_are_too_many(text: bytes) -> None:
    assert exceeds_64_bits(text)


@pytest.mark.parametrize(
    "text",
    [
        b": 10000000000000000000000",
        b"[" * 100_000 + b",100000000000000000000000",
        b"\xff :99999999999999999999",
    ],
)
def test_what_is_no_json_is_left_to_who_reads_it(text: bytes) -> None:
    assert not exceeds_64_bits(text)
