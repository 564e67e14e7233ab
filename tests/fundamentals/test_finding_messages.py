"""Messages are found again: by id, by session, by how they ended, page by page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hermes.messages import new_id
from tests.support.daemon import Daemon
from tests.support.waiting import until


def _listed(daemon: Daemon, query: str) -> dict[str, Any]:
    answer = daemon.get(f"/v1/messages?{query}")
    assert answer.status == 200, answer.body
    page: dict[str, Any] = answer.json
    assert set(page) == {"items", "next"}
    return page


def _ids(page: dict[str, Any]) -> list[str]:
    return [record["request_id"] for record in page["items"]]


def test_a_session_is_listed_newest_first_page_by_page(daemon: Daemon) -> None:
    session = new_id()
    sent = [daemon.send(f"echo {number}", session_id=session)["request_id"] for number in range(5)]
    pages: list[list[str]] = []
    cursor: str | None = ""
    while cursor is not None:
        page = _listed(daemon, f"session_id={session}&limit=2" + (cursor and f"&cursor={cursor}"))
        pages.append(_ids(page))
        cursor = page["next"]
    assert [one for page in pages for one in page] == sent[::-1]
    assert all(len(page) <= 2 for page in pages)


def test_what_came_in_the_meantime_does_not_shift_the_pages(daemon: Daemon) -> None:
    session = new_id()
    sent = [daemon.send("echo", session_id=session)["request_id"] for _ in range(4)]
    first = _listed(daemon, f"session_id={session}&limit=2")
    daemon.send("echo", session_id=session)
    second = _listed(daemon, f"session_id={session}&limit=2&cursor={first['next']}")
    assert _ids(first) + _ids(second) == sent[::-1]


def test_messages_are_found_by_their_end(daemon: Daemon, tmp_path: Path) -> None:
    session, gate = new_id(), tmp_path / "gate"
    good = daemon.send("echo 好", session_id=session)["request_id"]
    bad = daemon.send(intent="lab.raise", session_id=session)["request_id"]
    lost = daemon.send("不知道说什么", session_id=session)["request_id"]
    running = daemon.accept(intent="gate.read", payload={"gate": str(gate)}, session_id=session)
    until(lambda: daemon.runs(running))
    expected = {
        "": [running, lost, bad, good],
        "&status=succeeded": [good],
        "&status=failed": [lost, bad],
        "&status=running": [running],
        "&status=accepted": [],
        "&code=plugin_error": [bad],
        "&code=no_match": [lost],
        "&plugin=lab": [bad],
        "&plugin=echo&status=failed": [],
    }
    assert {query: _ids(_listed(daemon, f"session_id={session}{query}")) for query in expected} == expected
    gate.touch()


def test_a_listed_record_is_the_record(daemon: Daemon) -> None:
    record = daemon.send("复述 列表", session_id=new_id())
    assert _listed(daemon, f"session_id={record['session_id']}")["items"] == [record]


def test_an_unknown_session_is_an_empty_list(daemon: Daemon) -> None:
    assert _listed(daemon, "session_id=nobody") == {"items": [], "next": None}
