from __future__ import annotations

import pytest

from hermes.host.programs.spoken import Spoken


@pytest.mark.parametrize(
    ("line", "progress"),
    [
        ("::progress:: 正在看", ("正在看", None)),
        ("::progress 40:: half", ("half", 40.0)),
        ("::progress 99.5%:: nearly", ("nearly", 99.5)),
        ("::progress 40::", ("", 40.0)),
        ("::progress::no blank", ("no blank", None)),
        ("::progress:: ::progress:: twice", ("::progress:: twice", None)),
        (" ::progress:: indented", None),
        ("::progress forty:: x", None),
        ("::progress -1:: x", None),
        ("::progress x", None),
        ("::progressive:: x", None),
    ],
)
def test_a_line_is_progress_or_belongs_into_the_log(
    line: str, progress: tuple[str, float | None] | None
) -> None:
    spoken = Spoken()
    portion = spoken.feed(line.encode() + b"\n")
    assert list(portion.progress) == ([] if progress is None else [progress])
    assert portion.logged == ([line] if progress is None else [])
    assert spoken.last == ("" if progress is not None else line.strip())


def test_lines_may_come_in_pieces_and_the_last_without_an_end() -> None:
    spoken = Spoken()
    text = "磁盘 slow\n::progress 5:: 看\nlast".encode()
    portions = [spoken.feed(text[place : place + 1]) for place in range(len(text))]
    portions.append(spoken.finish())
    assert [line for portion in portions for line in portion.logged] == ["磁盘 slow", "last"]
    assert [one for portion in portions for one in portion.progress] == [("看", 5.0)]
    assert spoken.last == "last"


def test_a_line_without_an_end_is_held_only_as_far_as_it_is_shown() -> None:
    spoken = Spoken()
    for _ in range(100):
        assert spoken.feed(b"x" * 10_000).logged == []
    assert spoken.feed(b"\nnext\n").logged == ["x" * 8192 + "…", "next"]
    assert len(spoken.last) <= 300


def test_of_much_progress_at_once_the_newest_is_told() -> None:
    portion = Spoken().feed(b"".join(b"::progress %d:: x\n" % number for number in range(100)))
    assert portion.progress[-1] == ("x", 99.0)
    assert len(portion.progress) == 32


def test_what_a_log_should_not_have_is_counted() -> None:
    spoken = Spoken()
    logged = [line for _ in range(30) for line in spoken.feed(b"noise\n" * 100).logged]
    assert (len(logged), spoken.left_out) == (1000, 2000)
