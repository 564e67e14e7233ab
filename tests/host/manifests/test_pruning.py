"""One fault hides no other: what is right of a document is kept, and looked at further."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from hermes.config.json_file import read_json
from hermes.config.validation import InvalidPart, Section
from hermes.host.manifests.pruning import is_below, prune


class Span(Section):
    low: int = 1
    high: int = 9

    @model_validator(mode="after")
    def _ordered(self) -> Span:
        if self.high < self.low:
            raise InvalidPart("must not be below low", ("high",))
        return self


class Whole(Section):
    name: str
    spans: list[Span] = Field(default_factory=list)
    words: dict[str, int] = Field(default_factory=dict)


def looked_at(tmp_path: Path, text: str) -> tuple[Whole | None, list[str]]:
    file = tmp_path / "file.json"
    file.write_text(text, encoding="utf-8")
    found, problems = prune(Whole, read_json(file), fill=_fill)
    return found, [f"{one.line} {one.key}: {one.detail}" for one in problems]


def _fill(data: dict[str, Any]) -> None:
    data.setdefault("name", "nobody")
    data["spans"] = [{} if one is None else one for one in data.get("spans", [])]


def test_what_is_right_stays_as_it_is(tmp_path: Path) -> None:
    assert looked_at(tmp_path, '{"name": "a", "words": {"一": 1}}') == (
        Whole(name="a", words={"一": 1}),
        [],
    )


def test_faults_are_taken_out_and_the_rest_is_kept(tmp_path: Path) -> None:
    found, told = looked_at(
        tmp_path,
        '{"name": 5, "no": 1,\n"words": {"一": 1, "two": "2", "a.b": "3"},\n"spans": [7, {"low": 3}, {"mid": 1}]}',
    )
    assert found == Whole(name="nobody", words={"一": 1}, spans=[Span(), Span(low=3), Span()])
    assert told == [
        "1 name: must be text; it is 5",
        "1 no: is not a known key; allowed here: name, spans, words",
        '2 words.two: must be a whole number; it is "2"',
        '2 words.a.b: must be a whole number; it is "3"',
        "3 spans[0]: must be a mapping of keys to values; it is 7",
        "3 spans[2].mid: is not a known key; allowed here: high, low",
    ]


def test_a_fault_that_another_one_hid_is_told_too(tmp_path: Path) -> None:
    found, told = looked_at(tmp_path, '{"name": "a", "spans": [{"low": 5, "high": 4, "mid": 1}]}')
    assert found == Whole(name="a", spans=[Span(low=5)])
    assert told == [
        "1 spans[0].mid: is not a known key; allowed here: high, low",
        "1 spans[0].high: must not be below low",
    ]


def test_nothing_is_returned_if_what_lacks_cannot_be_replaced(tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    file.write_text('{"words": {"x": "1"}}')
    found, problems = prune(Whole, read_json(file))
    assert found is None
    assert [one.key for one in problems] == ["name", "words.x"]


def test_a_part_is_below_its_whole_and_not_below_its_neighbour(tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    file.write_text('{"name": 1, "spans": [{"low": ""}]}')
    _, problems = prune(Whole, read_json(file), fill=_fill)
    assert [
        is_below(key, problems) for key in ("name", "spans[0].low.x", "spans[0].lower", "spans", None)
    ] == [
        True,
        True,
        False,
        False,
        False,
    ]
