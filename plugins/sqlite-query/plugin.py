"""Reads from the SQLite file named in hermes.yaml and returns a table; nothing it is sent can write."""

import asyncio
import math
import sqlite3
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

ROWS = 100
SECONDS = 10.0
CELL_CHARS = 10_000
BLOB_BYTES = 32  # of a blob that are shown
TABLE_CHARS = 1_000_000
REASON_CHARS = 200

TABLES = """
    SELECT m.name, m.type, group_concat(trim(c.name || ' ' || c.type), ', ') AS columns
    FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c
    WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
    GROUP BY m.name, m.type ORDER BY m.name
"""

ACTIONS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
PRAGMAS = {"table_info", "table_xinfo", "table_list", "index_list", "index_info", "foreign_key_list"}
CODE_LOADERS = {"load_extension", "fts3_tokenizer"}
# SQLite sets these tables up at their first use, by steps that look like writing: that use comes before the guard.
BUILT_IN_TABLES = ("SELECT 1 FROM pragma_table_info", "SELECT 1 FROM json_each", "SELECT 1 FROM json_tree")

# A function runs to its end whatever the time limit says, so what it may work on is kept small. The heap limit
# is the whole process's: sorting happens in memory, and a query cannot fill the disk with its temporary files.
LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 1_000_000,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1_000,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
}
SETTINGS = """
    PRAGMA query_only = ON;
    PRAGMA trusted_schema = OFF;
    PRAGMA cell_size_check = ON;
    PRAGMA temp_store = MEMORY;
    PRAGMA hard_heap_limit = 134217728;
"""

TEXT = {
    "zh": {
        "not_configured": "还没有配置数据库：请在 hermes.yaml 设置 plugins.sqlite-query.database",
        "missing": "plugins.sqlite-query.database 所指的数据库文件不存在",
        "denied": "只允许读取：SQLite 拒绝了这条语句（{reason}）",
        "slow": "查询超过了 {seconds:g} 秒，已中止：请缩小范围",
        "large": "查询用到的数据过大：请缩小范围，不要取出过长的列",
        "busy": "数据库正忙，请稍后再试",
        "unreadable": "无法读取数据库：{reason}",
        "wrong": "SQL 有误：{reason}",
        "no_query": "这条语句没有返回表：请给出一条 SELECT 语句",
        "truncated": "结果未完：只返回了前 {rows} 行",
    },
    "en": {
        "not_configured": "No database is configured: set plugins.sqlite-query.database in hermes.yaml",
        "missing": "The database file that plugins.sqlite-query.database names does not exist",
        "denied": "Only reading is allowed: SQLite refused this statement ({reason})",
        "slow": "The query was stopped after {seconds:g} s; narrow it down",
        "large": "The query handles too much data at once; narrow it down or leave long columns out",
        "busy": "The database is busy; try again in a moment",
        "unreadable": "The database cannot be read: {reason}",
        "wrong": "The SQL is wrong: {reason}",
        "no_query": "This statement gives no table; send one SELECT statement",
        "truncated": "There is more: only the first {rows} rows are here",
    },
}

DENIED = ("upstream_denied", "denied", False)
UNREADABLE = ("upstream_unavailable", "unreadable", False)
BUSY = ("upstream_unavailable", "busy", True)
FAILURES = {
    sqlite3.SQLITE_AUTH: DENIED,
    sqlite3.SQLITE_READONLY: DENIED,
    sqlite3.SQLITE_INTERRUPT: ("query_timeout", "slow", False),
    sqlite3.SQLITE_TOOBIG: ("invalid_payload", "large", False),
    sqlite3.SQLITE_NOMEM: ("invalid_payload", "large", False),
    sqlite3.SQLITE_BUSY: BUSY,
    sqlite3.SQLITE_LOCKED: BUSY,
    sqlite3.SQLITE_CANTOPEN: UNREADABLE,
    sqlite3.SQLITE_IOERR: UNREADABLE,
    sqlite3.SQLITE_NOTADB: UNREADABLE,
    sqlite3.SQLITE_CORRUPT: UNREADABLE,
}


async def handle(message: dict, context: dict) -> dict:
    """Return `columns`, `rows` as objects, `row_count` and `truncated`, for `sql` or for the list of tables."""
    config, text = context["config"], TEXT[context["locale"]]
    if not config.get("database"):
        return failed("not_configured", text["not_configured"])
    sql = TABLES if message["intent"] == "db.tables" else message["payload"]["sql"]
    seconds, stopped = config.get("timeout", SECONDS), threading.Event()
    try:
        data = await asyncio.to_thread(query, config, sql, seconds=seconds, stopped=stopped)
    except (sqlite3.Error, sqlite3.Warning, FileNotFoundError, MemoryError, ValueError) as error:
        code, name, retryable = verdict(error)
        sentence = text[name].format(reason=str(error)[:REASON_CHARS], seconds=seconds)
        return failed(code, sentence, retryable=retryable)
    finally:
        stopped.set()  # a cancelled call leaves its thread behind; this ends the query there
    if data is None:
        return failed("invalid_payload", text["no_query"])
    warning = text["truncated"].format(rows=data["row_count"]) if data["truncated"] else None
    return {"data": data, "error": None, "warning": warning}


def query(config: dict, sql: str, *, seconds: float, stopped: threading.Event) -> dict | None:
    """Run one statement for at most `seconds` and return its table, or None if it has none."""
    ends = time.monotonic() + seconds
    file = Path(config["database"])
    if not file.is_file():
        raise FileNotFoundError
    address = file.as_uri() + "?mode=ro"
    with closing(sqlite3.connect(address, uri=True, isolation_level=None, timeout=seconds)) as database:
        database.executescript(SETTINGS)
        for first_use in BUILT_IN_TABLES:
            with suppress(sqlite3.OperationalError):  # a SQLite that was built without it
                database.execute(first_use)
        for limit, value in LIMITS.items():
            database.setlimit(limit, value)
        database.text_factory = lambda raw: raw.decode("utf-8", "replace")
        database.set_authorizer(authorize)
        database.set_progress_handler(lambda: stopped.is_set() or time.monotonic() > ends, 10_000)
        cursor = database.execute(sql)
        return table(cursor, config.get("max_rows", ROWS)) if cursor.description else None


def authorize(action: int, *names: str | None) -> int:
    """Tell SQLite, while it compiles a statement, which of its parts are reading: all else is refused."""
    allowed = (
        action in ACTIONS
        or (action == sqlite3.SQLITE_FUNCTION and names[1] not in CODE_LOADERS)
        or (action == sqlite3.SQLITE_PRAGMA and names[0] in PRAGMAS)
    )
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def table(cursor: sqlite3.Cursor, max_rows: int) -> dict:
    """Return the first rows, as many as `max_rows` and TABLE_CHARS allow."""
    columns = distinct([column[0] for column in cursor.description])
    rows, room, truncated = [], TABLE_CHARS, False
    for record in cursor:
        row = dict(zip(columns, map(cell, record), strict=True))
        room -= sum(len(column) + len(str(value)) for column, value in row.items())
        truncated = len(rows) == max_rows or room < 0
        if truncated:
            break
        rows.append(row)
    return {"columns": columns, "rows": rows, "row_count": len(rows), "truncated": truncated}


def distinct(names: list[str]) -> list[str]:
    """Return the names with a number after each that has been there before: `id`, `id_2`."""
    result: list[str] = []
    for name in names:
        number, candidate = 1, name
        while candidate in result:
            number += 1
            candidate = f"{name}_{number}"
        result.append(candidate)
    return result


def cell(value: object) -> object:
    """Return a value as JSON can hold it: a blob as the start of its hex and its size, long text cut with `…`."""
    if isinstance(value, bytes):
        more = "…" if len(value) > BLOB_BYTES else ""
        return f"x'{value[:BLOB_BYTES].hex()}{more}' ({len(value)} B)"
    if isinstance(value, str) and len(value) > CELL_CHARS:
        return value[:CELL_CHARS] + "…"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def verdict(error: Exception) -> tuple[str, str, bool]:
    """Return code, sentence and whether to try again for what SQLite raised."""
    if isinstance(error, FileNotFoundError):
        return ("not_found", "missing", False)
    if isinstance(error, MemoryError):
        return FAILURES[sqlite3.SQLITE_NOMEM]
    if str(error).startswith("not authorized"):  # under whatever code
        return DENIED
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the rest says in which of several ways
    return FAILURES.get(code, ("invalid_payload", "wrong", False))


def failed(code: str, message: str, *, retryable: bool = False) -> dict:
    """Return an envelope with an error."""
    return {"data": None, "error": {"code": code, "message": message, "retryable": retryable}}
