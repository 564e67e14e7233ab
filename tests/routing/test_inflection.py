from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.routing.inflection import forms, singular


@pytest.mark.parametrize(
    ("word", "inflected"),
    [
        ("log", {"logs", "logging"}),
        ("query", {"queries", "querying"}),
        ("deploy", {"deploys", "deploying"}),
        ("box", {"boxes"}),
        ("process", {"processes", "processing"}),
        ("status", {"statuses"}),
        ("branch", {"branches"}),
        ("cache", {"caches", "caching"}),
        ("database", {"databases"}),
        ("echo", {"echoes", "echoing"}),
        ("commit", {"commits", "committing"}),
        ("monitor", {"monitors", "monitoring"}),
        ("plan", {"plans", "planning"}),
        ("free", {"freeing"}),
        ("vm", {"vms"}),
        ("logs", {"log", "logging"}),
        ("queries", {"query"}),
        ("branches", {"branch"}),
        ("caches", {"cache"}),
    ],
)
def test_plurals_and_gerunds_count_as_the_word(word: str, inflected: set[str]) -> None:
    assert inflected <= forms(word)


@pytest.mark.parametrize(
    ("word", "stranger"),
    [
        ("log", "catalog"),
        ("log", "logged"),
        ("log", "loging"),
        ("new", "news"),
        ("news", "new"),
        ("mean", "means"),
        ("do", "does"),
        ("note", "not"),
        ("plan", "planing"),
        ("car", "caring"),
        ("status", "statu"),
        ("redis", "redi"),
        ("access", "acces"),
        ("string", "str"),
        ("building", "build"),
    ],
)
def test_a_word_that_only_looks_alike_does_not(word: str, stranger: str) -> None:
    assert stranger not in forms(word)


@pytest.mark.parametrize("word", ["日志", "k8s", "café", "5", "x", "данные"])
def test_what_is_no_plain_english_word_has_one_form(word: str) -> None:
    assert forms(word) == {word}


@given(st.text("abcdegilnosuxyz", min_size=1, max_size=9))
def test_every_word_is_a_form_of_itself_and_has_few(word: str) -> None:
    assert word in forms(word)
    assert len(forms(word)) <= 6
    assert singular(word) in forms(word) or len(word) == 1
