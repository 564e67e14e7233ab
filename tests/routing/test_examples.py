from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from hermes.errors import ConfigError
from hermes.routing.examples import OOS, Example, examples_of, read_examples
from hermes.routing.lexicon import IntentEntry


def written(folder: Path, content: bytes | str) -> Path:
    file = folder / "rows.jsonl"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def told(file: Path) -> list[str]:
    with pytest.raises(ConfigError) as refused:
        read_examples(file)
    assert all(problem.file == str(file) for problem in refused.value.problems)
    return [f"{problem.line}: {problem.detail}" for problem in refused.value.problems]


def test_a_row_has_a_text_an_intent_or_a_label_and_may_have_a_split(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        '{"text": "restart web", "intent": "service.restart"}\n'
        '{"text": "看看日志", "label": "log.show", "split": "test", "annotator": 3}\n'
        '{"text": "讲个笑话", "label": "oos", "intent": "oos", "split": null}\n',
    )
    assert read_examples(file) == [
        Example("restart web", "service.restart"),
        Example("看看日志", "log.show", "test"),
        Example("讲个笑话", OOS),
    ]


def test_a_byte_order_mark_line_ends_of_windows_and_blank_lines_do_not_matter(tmp_path: Path) -> None:
    row = '{"text": "日志", "label": "log"}'
    assert read_examples(written(tmp_path, f"\ufeff{row}\r\n\r\n  \n{row}")) == [Example("日志", "log")] * 2
    assert read_examples(written(tmp_path, "")) == []


def test_signs_that_some_call_a_line_end_stay_in_the_text(tmp_path: Path) -> None:
    file = written(tmp_path, '{"text": "one\u2028two\x85three", "label": "log"}\n')
    assert read_examples(file) == [Example("one\u2028two\x85three", "log")]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("restart web", "is not a line of JSON"),
        ('{"text": "a", "label": "b"', "is not a line of JSON"),
        ("[" * 100_000, "is not a line of JSON"),
        ('["a", "b"]', "is not an object"),
        ('{"label": "b"}', 'has no "text"'),
        ('{"text": " \u3000", "label": "b"}', '"text" must be a text that is not empty'),
        ('{"text": 5, "label": "b"}', '"text" must be a text that is not empty'),
        ('{"text": "\\ud800", "label": "b"}', "half of a character"),
        (json.dumps({"text": "长" * 10_001, "label": "b"}), "more than 10,000 characters"),
        ('{"text": "a"}', 'has neither "intent" nor "label"'),
        ('{"text": "a", "label": ""}', "must be the name of an intent"),
        ('{"text": "a", "label": 7}', "it is 7"),
        ('{"text": "a", "label": " b"}', "without spaces around it"),
        ('{"text": "a", "label": "b\\n"}', "without spaces around it"),
        ('{"text": "a", "intent": "b", "label": "c"}', '"intent" and "label" differ'),
        ('{"text": "a", "label": "b", "split": "dev"}', "one of train, validation, test"),
    ],
)
def test_a_row_that_is_wrong_is_told_with_its_line_and_a_remedy(
    tmp_path: Path, row: str, reason: str
) -> None:
    (line,) = told(written(tmp_path, f'{{"text": "ok", "label": "b"}}\n\n{row}\n'))
    assert line.startswith("3: ")
    assert reason in line


def test_bytes_that_are_not_utf_8_are_told_with_their_line(tmp_path: Path) -> None:
    (line,) = told(written(tmp_path, '{"text": "日志", "label": "log"}'.encode("gbk")))
    assert line == "1: is not UTF-8 text; save the file as UTF-8"


def test_of_many_bad_rows_the_first_twenty_are_told(tmp_path: Path) -> None:
    assert [line.split(":")[0] for line in told(written(tmp_path, "x\n" * 50))] == [
        str(number) for number in range(1, 21)
    ]


def test_a_file_that_is_not_there_or_cannot_be_read_is_an_error_that_names_it(tmp_path: Path) -> None:
    assert told(tmp_path / "none.jsonl") == ["None: there is no such file"]
    (line,) = told(tmp_path)
    assert "cannot be read" in line


def test_a_file_larger_than_its_limit_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    with file.open("wb") as opened:
        os.truncate(opened.fileno(), (256 << 20) + 1)  # without taking room on the disk
    (line,) = told(file)
    assert "larger than 256 MiB" in line


def test_the_examples_of_manifests_are_rows_for_training() -> None:
    entries = [
        IntentEntry("log.show", "logs", {}, examples=("看看日志", "show the logs", "看看日志", " ")),
        IntentEntry("service.restart", "services", {}, examples=("看看日志",)),
        IntentEntry("echo", "echo", {"echo": 0.9}),
    ]
    assert examples_of(entries) == [
        Example("看看日志", "log.show"),
        Example("show the logs", "log.show"),
        Example("看看日志", "service.restart"),
    ]
