"""sqlite-query on real files: tables come back, and nothing that is sent changes or leaves the database."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hermes.host.manifests.manifest import Intent, load_manifest, plugin_config
from hermes.host.manifests.parameters import Parameters
from hermes.sdk.testing import Call, Outcome, load, run

FOLDER = Path(__file__).parents[2] / "plugins" / "sqlite-query"
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
SCHEMA = """
    CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT, price REAL, photo BLOB);
    INSERT INTO products VALUES (1, '茶 🍵', 12.5, x'00ff'), (2, 'coffee', NULL, zeroblob(2000000)), (3, '', 0, NULL);
    CREATE TABLE 订单 (编号 INTEGER, 金额);
    CREATE INDEX by_price ON products (price);
    CREATE VIEW cheap AS SELECT name FROM products WHERE price < 10;
"""

DENIED = (Path(__file__).parent / "denied.sql").read_text().strip().split("\n\n")

handle = load(FOLDER)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "app 100%? #数据.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCHEMA)
    return path


async def ask(database: Path | str, sql: str, **more: Any) -> Outcome:
    config = {"database": str(database)} | more.pop("config", {})
    return await run(handle, {"sql": sql}, config=config, call=Call(intent="db.query"), **more)


def code(outcome: Outcome) -> str:
    assert outcome.error is not None
    return str(outcome.error["code"])


def snapshot(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def intent(name: str) -> Intent:
    return next(intent for intent in load_manifest(FOLDER).intents if intent.name == name)


async def test_a_query_returns_a_table(database: Path) -> None:
    outcome = await ask(database, "SELECT id, name, price FROM products ORDER BY id")
    assert (outcome.error, outcome.warning) == (None, None)
    assert outcome.data == {
        "columns": ["id", "name", "price"],
        "rows": [
            {"id": 1, "name": "茶 🍵", "price": 12.5},
            {"id": 2, "name": "coffee", "price": None},
            {"id": 3, "name": "", "price": 0.0},
        ],
        "row_count": 3,
        "truncated": False,
    }


async def test_tables_and_columns_may_have_chinese_names(database: Path) -> None:
    outcome = await ask(database, "select count(编号) as 数量 from 订单")
    assert outcome.data["rows"] == [{"数量": 0}]


async def test_the_tables_are_listed_with_their_columns(database: Path) -> None:
    outcome = await run(handle, {}, config={"database": str(database)}, call=Call(intent="db.tables"))
    assert outcome.data["rows"] == [
        {"name": "cheap", "type": "view", "columns": "name TEXT"},
        {"name": "products", "type": "table", "columns": "id INTEGER, name TEXT, price REAL, photo BLOB"},
        {"name": "订单", "type": "table", "columns": "编号 INTEGER, 金额"},
    ]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 AS one;",
        "-- a comment\nSELECT 1 AS one",
        "/* ; */ SELECT 1 AS one /* ; drop table products */",
        "WITH t AS (SELECT 1 AS one) SELECT * FROM t",
        "WITH RECURSIVE t(one) AS (SELECT 1) SELECT * FROM t",
        "SELECT value AS one FROM json_each('[1]')",
        "SELECT one FROM (VALUES (1)) JOIN (SELECT 1 AS one)",
    ],
)
async def test_reading_is_allowed_in_every_shape(database: Path, sql: str) -> None:
    assert (await ask(database, sql)).data["rows"] == [{"one": 1}]


@pytest.mark.parametrize("sql", ["PRAGMA table_info(products)", "EXPLAIN QUERY PLAN SELECT * FROM products"])
async def test_the_shape_of_the_database_may_be_read(database: Path, sql: str) -> None:
    assert (await ask(database, sql)).data["row_count"] > 0


async def test_rows_stop_at_the_limit_and_say_so(database: Path) -> None:
    sql = "SELECT id FROM products ORDER BY id"
    chinese = await ask(database, sql, config={"max_rows": 2}, locale="zh")
    assert [row["id"] for row in chinese.data["rows"]] == [1, 2]
    assert (chinese.data["row_count"], chinese.data["truncated"]) == (2, True)
    assert chinese.warning == "结果未完：只返回了前 2 行"
    whole = await ask(database, sql, config={"max_rows": 3})
    assert (whole.data["truncated"], whole.warning) == (False, None)


async def test_blobs_are_shown_as_hex_with_their_size(database: Path) -> None:
    outcome = await ask(database, "SELECT photo, zeroblob(100) AS long FROM products WHERE id = 1")
    assert outcome.data["rows"] == [{"photo": "x'00ff' (2 B)", "long": f"x'{'00' * 32}…' (100 B)"}]


async def test_columns_of_one_name_stay_apart(database: Path) -> None:
    outcome = await ask(database, "SELECT 1 AS id, 2 AS id_2, 3 AS id")
    assert outcome.data["rows"] == [{"id": 1, "id_2": 2, "id_3": 3}]


async def test_values_that_json_cannot_hold_become_text(database: Path) -> None:
    outcome = await ask(database, "SELECT 9e999 AS up, -9e999 AS down, CAST(x'ff41' AS TEXT) AS broken")
    assert outcome.data["rows"] == [{"up": "inf", "down": "-inf", "broken": "\ufffdA"}]


async def test_long_text_is_cut_and_marked(database: Path) -> None:
    outcome = await ask(database, "SELECT printf('%.*c', 300000, '长') AS text")
    assert outcome.data["rows"][0]["text"] == "长" * 10_000 + "…"


async def test_a_wide_and_long_result_stops_at_a_size(database: Path) -> None:
    sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT printf('%.*c', 9000, 'x') AS t FROM n"
    outcome = await ask(database, sql, config={"max_rows": 10_000})
    assert outcome.data["truncated"]
    assert 100 < outcome.data["row_count"] < 112


@pytest.mark.parametrize("sql", DENIED)
@pytest.mark.parametrize("locale", ["zh", "en"])
async def test_what_is_not_reading_is_denied_and_changes_nothing(
    database: Path, sql: str, locale: str
) -> None:
    before = snapshot(database.parent)
    outcome = await ask(database, sql.replace("{folder}", str(database.parent)), locale=locale)
    assert code(outcome) == "upstream_denied"
    assert outcome.data is None
    assert snapshot(database.parent) == before


@pytest.mark.parametrize(
    "sql",
    ["PRAGMA database_list", "SELECT file FROM pragma_database_list", "SELECT * FROM missing", "SELECT ("],
)
async def test_the_place_of_the_file_is_never_told(database: Path, sql: str) -> None:
    outcome = await ask(database, sql)
    assert outcome.error is not None
    assert str(database.parent) not in repr(outcome)


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT * FROM missing", "no such table: missing"),
        ("SELEC 1", 'near "SELEC": syntax error'),
        ("SELECT 1; DROP TABLE products", "one statement"),
        ("SELECT 1;;SELECT 2", "one statement"),
        ("SELECT 1\0", "null character"),
        ("", "SELECT"),
        ("-- nothing but a comment", "SELECT"),
        ("SELECT '" + "x" * 100_000 + "'", "too large"),
        ("SELECT " + "(" * 3_000 + "1" + ")" * 3_000, ""),
    ],
)
async def test_wrong_sql_is_invalid_and_says_why(database: Path, sql: str, reason: str) -> None:
    outcome = await ask(database, sql)
    assert code(outcome) == "invalid_payload"
    assert outcome.error is not None
    assert reason in outcome.error["message"]
    assert len(outcome.error["message"]) < 300


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT zeroblob(1000000000)",
        "SELECT randomblob(1000000000)",
        "SELECT hex(zeroblob(900000))",
        "SELECT replace(hex(zeroblob(9000)), '00', hex(zeroblob(9000)))",
        "SELECT photo FROM products WHERE id = 2",
        "SELECT " + ", ".join(["randomblob(900000)"] * 400),
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT randomblob(900000) FROM n ORDER BY 1",
    ],
)
async def test_data_bombs_are_refused(database: Path, sql: str) -> None:
    assert code(await ask(database, sql, config={"timeout": 20})) == "invalid_payload"


async def test_a_row_with_a_huge_value_can_be_read_without_it(database: Path) -> None:
    outcome = await ask(database, "SELECT name, length(photo) AS size FROM products WHERE id = 2")
    assert outcome.data["rows"] == [{"name": "coffee", "size": 2_000_000}]


@pytest.mark.parametrize(("locale", "part"), [("zh", "0.2 秒"), ("en", "0.2 s")])
async def test_an_endless_query_is_stopped_at_its_time(database: Path, locale: str, part: str) -> None:
    outcome = await ask(database, ENDLESS, config={"timeout": 0.2}, locale=locale)
    assert code(outcome) == "query_timeout"
    assert outcome.error is not None
    assert part in outcome.error["message"]


async def test_a_cancelled_call_leaves_no_query_running(database: Path) -> None:
    config = {"database": str(database), "timeout": 20}
    call = Call(intent="db.query", timeout=0.3)
    with pytest.raises(TimeoutError):
        await run(handle, {"sql": ENDLESS}, config=config, call=call)
    async with asyncio.timeout(15):
        await asyncio.get_running_loop().shutdown_default_executor()


async def test_a_database_that_is_being_written_is_busy_and_worth_trying_again(database: Path) -> None:
    with closing(sqlite3.connect(database, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        outcome = await ask(database, "SELECT 1 FROM products", config={"timeout": 0.1}, locale="zh")
    assert outcome.error == {
        "code": "upstream_unavailable",
        "message": "数据库正忙，请稍后再试",
        "retryable": True,
    }


async def test_a_database_in_wal_mode_is_read_while_another_writes(database: Path) -> None:
    with closing(sqlite3.connect(database, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("INSERT INTO products (id, name) VALUES (4, 'new')")
        outcome = await ask(database, "SELECT count(*) AS n FROM products")
        writer.execute("COMMIT")
    assert outcome.data["rows"] == [{"n": 3}]


async def test_a_file_that_is_no_database_is_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, " * 100)
    assert code(await ask(path, "SELECT * FROM sqlite_master")) == "upstream_unavailable"


@pytest.mark.parametrize("locale", ["zh", "en"])
async def test_a_missing_file_is_not_found_and_its_place_not_told(tmp_path: Path, locale: str) -> None:
    for path in (tmp_path / "gone.db", tmp_path):
        outcome = await ask(path, "SELECT 1", locale=locale)
        assert code(outcome) == "not_found"
        assert str(tmp_path) not in repr(outcome)
    assert snapshot(tmp_path) == {}


@pytest.mark.parametrize("name", ["db.query", "db.tables"])
async def test_without_a_database_the_answer_says_what_to_set(name: str) -> None:
    outcome = await run(handle, {"sql": "SELECT 1"}, locale="zh", call=Call(intent=name))
    assert outcome.error == {
        "code": "not_configured",
        "message": "还没有配置数据库：请在 hermes.yaml 设置 plugins.sqlite-query.database",
        "retryable": False,
    }


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("select 1", "select 1"),
        ("查询数据库select count(*) from 订单", "select count(*) from 订单"),
        ("run this sql: SELECT a,\n  b FROM t", "SELECT a,\n  b FROM t"),
        ("帮我跑一下\n```sql\nselect `a`\nfrom t;\n```\n谢谢", "select `a`\nfrom t;"),
        ("query with t(a) as (select 1) select a from t", "with t(a) as (select 1) select a from t"),
        ("WITH RECURSIVE t AS (SELECT 1) SELECT 1", "WITH RECURSIVE t AS (SELECT 1) SELECT 1"),
        ("query the database with select 1", "select 1"),
        ("查一下数据库", None),
        ("selection of the best", None),
    ],
)
def test_the_statement_is_found_in_the_sentence(text: str, sql: str | None) -> None:
    expected = {} if sql is None else {"sql": sql}
    assert Parameters(intent("db.query")).fill(text, {}) == expected


def test_the_path_of_the_database_is_resolved_beside_hermes_yaml(tmp_path: Path) -> None:
    raw: Mapping[str, Any] = {"database": "data/app.db", "max_rows": 5, "timeout": 2.5}
    config = plugin_config(load_manifest(FOLDER), raw, base_dir=tmp_path)
    assert config["database"] == str(tmp_path / "data" / "app.db")
    assert plugin_config(load_manifest(FOLDER), {}, base_dir=tmp_path) == {}
