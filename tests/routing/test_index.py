from __future__ import annotations

from hermes.routing.folding import readings
from hermes.routing.index import Index, Tables
from hermes.routing.patterns import Patterns


def patterns(*keywords: str) -> Patterns:
    return Patterns(dict.fromkeys(keywords, 0.5), where="intent 'i' (plugin 'p')")


def found(tables: Tables, *words: str) -> set[str]:
    return {sense.match.keyword for senses in Index(tables).find(words) for sense in senses}


MANY = [patterns("log", f"日志{number}", f"word{number}") for number in range(40)]


def test_words_characters_pairs_and_spans_are_found() -> None:
    tables = Tables().with_parts(
        frozenset([patterns("log", "查", "日志", "构建日志", "build log", "k8s集群", "文件 x")])
    )
    assert found(tables, "logs") == {"log"}
    assert found(tables, "查日志") == {"查", "日志"}
    assert found(tables, "构建日志") == {"日志", "构建日志"}
    assert found(tables, "the", "build", "log") == {"build log", "log"}
    assert found(tables, "k8s", "集群里") == {"k8s集群"}
    assert found(tables, "看文件", "x") == {"文件 x"}
    assert found(tables, "今日志愿者") == set()
    assert found(tables) == set()


def test_a_small_change_leaves_the_tables_before_as_they_are() -> None:
    first = patterns("日志", "build log")
    before = Tables().with_parts(frozenset([*MANY, first]))
    after = before.with_parts(frozenset([*MANY, patterns("流水线", "log")]))
    assert (before.changes, after.changes) == (0, 1)
    assert found(before, "日志", "build", "log") == {"日志", "build log", "log"}
    assert found(after, "日志", "build", "log", "流水线") == {"log", "流水线"}


def test_a_large_change_begins_anew_and_so_do_many_small_ones() -> None:
    few = Tables().with_parts(frozenset(MANY[:2]))
    assert few.with_parts(frozenset(MANY)).changes == 0
    tables = Tables().with_parts(frozenset(MANY))
    seen = set()
    for number in range(250):
        [word] = readings(f"新{chr(0x5000 + number)}词")[0]
        tables = tables.with_parts(frozenset([*MANY, patterns(word)]))
        seen.add(tables.changes)
        assert found(tables, word) == {word}
    assert 0 in seen
    assert max(seen) == 100
    assert len(tables.openings) < 300


def test_what_shares_a_pattern_with_what_is_gone_stays() -> None:
    gone, stays = patterns("日志", "log", "流水线"), patterns("日志", "log", "流水线状态", "流水")
    tables = Tables().with_parts(frozenset([*MANY, gone, stays])).with_parts(frozenset([*MANY, stays]))
    owners = {sense.owner for senses in Index(tables).find(["日志", "流水线状态"]) for sense in senses}
    assert owners == {stays}
    assert found(tables, "流水线状态") == {"流水线状态", "流水"}
