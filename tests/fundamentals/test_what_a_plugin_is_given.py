"""A plugin gets its section of hermes.yaml and the variables that it names, and sees nothing else of the daemon's."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from tests.conftest import StartDaemon
from tests.support.daemon import write_plugin

TELL = """
import os

async def handle(message, context):
    return {"secrets": context["secrets"], "config": context["config"], "environment": sorted(os.environ)}
"""


def test_a_plugin_is_given_its_section_of_the_configuration(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    with sqlite3.connect(tmp_path / "shop.db") as shop:
        shop.execute("CREATE TABLE orders (id INTEGER, item TEXT)")
        shop.executemany("INSERT INTO orders VALUES (?, ?)", [(1, "茶 🍵"), (2, "coffee")])
    shop.close()
    daemon = start_daemon({"plugins": {"sqlite-query": {"database": "shop.db"}}}, plugins=["sqlite-query"])
    record = daemon.send("查询数据库 select item from orders order by id")
    assert record["envelope"]["error"] is None
    assert [row["item"] for row in record["envelope"]["data"]["rows"]] == ["茶 🍵", "coffee"]
    assert "茶 🍵" in record["digest"]


def test_a_plugin_sees_the_variables_that_it_names_and_no_others(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    write_plugin(tmp_path, "tell", TELL, env=["HERMES_TEST_TOKEN"])
    secrets = {"HERMES_TEST_TOKEN": "令牌-1", "HERMES_TEST_OTHER": "not-for-you"}
    data = start_daemon(environ=secrets).send(intent="tell")["envelope"]["data"]
    assert data["secrets"] == {"HERMES_TEST_TOKEN": "令牌-1"}
    assert "HERMES_TEST_TOKEN" in data["environment"]
    assert "HERMES_TEST_OTHER" not in data["environment"]


def test_a_section_that_the_manifest_does_not_allow_stops_that_plugin_alone(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    schema = {"type": "object", "properties": {"rows": {"type": "integer"}}, "additionalProperties": False}
    write_plugin(tmp_path, "tell", TELL, config=schema)
    write_plugin(tmp_path, "other", TELL)
    daemon = start_daemon({"plugins": {"tell": {"rows": "many"}, "other": {"any": ["thing"]}}})
    error = daemon.plugin("tell")["last_error"]
    assert (daemon.plugin("tell")["state"], error["file"]) == ("failed", "hermes.yaml")
    assert "plugins.tell.rows" in error["message"]
    assert daemon.send(intent="other")["envelope"]["data"]["config"] == {"any": ["thing"]}
