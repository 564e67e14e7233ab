"""More messages than a plugin can take: so many run, so many wait, all others are told when to come back, and none is lost."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil

from tests.conftest import StartDaemon
from tests.support.client import Answer
from tests.support.saving import answer, make
from tests.support.waiting import until

_POSTS, _WAITING, _AT_A_TIME = 1000, 50, 64
_GROWTH = 64 << 20  # bytes


def test_of_a_thousand_at_once_a_bounded_number_is_taken_and_every_one_of_those_runs_once(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    make(tmp_path)
    gate = tmp_path / "gate"
    daemon = start_daemon({"limits": {"plugin_queue": _WAITING}}, plugins=["gate"])
    assert answer(daemon) == "one"
    process, most, over = psutil.Process(daemon.pid), [0], threading.Event()
    before = process.memory_info().rss

    def watch() -> None:
        while not over.wait(0.01):
            most[0] = max(most[0], process.memory_info().rss)

    def post(number: int) -> Answer:
        payload = {"gate": str(gate), "name": number}
        return daemon.post("/v1/messages", {"intent": "gate.write", "payload": payload})

    watching = threading.Thread(target=watch)
    watching.start()
    with ThreadPoolExecutor(50) as hands:
        answers = list(hands.map(post, range(_POSTS)))
    assert answer(daemon) == "one"  # of another plugin
    over.set()
    watching.join()

    counts = Counter(one.status for one in answers)
    assert counts == {202: _AT_A_TIME + _WAITING, 429: _POSTS - _AT_A_TIME - _WAITING}
    for refused in (one for one in answers if one.status == 429):
        assert refused.problem == (429, "rate_limited")
        assert int(refused.headers["retry-after"]) > 0
        assert "messages for gate are waiting already" in refused.json["detail"]
    taken = [str(one.json["request_id"]) for one in answers if one.status == 202]
    row = until(lambda: one if (one := daemon.plugin("gate"))["queue_depth"] == _WAITING else None)
    assert [worker["busy"] for worker in row["workers"]] == [_AT_A_TIME]
    assert most[0] - before < _GROWTH

    gate.touch()
    assert {daemon.story(request_id)[-1].event for request_id in taken} == {"TOOL_SUCCEEDED"}
    assert {daemon.runs(request_id) for request_id in taken} == {1}
    assert daemon.plugin("gate")["calls"] == len(taken)
    assert post(0).status == 202
