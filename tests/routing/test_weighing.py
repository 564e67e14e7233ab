from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hermes.routing.decision import Thresholds
from hermes.routing.lexicon import IntentEntry
from hermes.routing.router import Router
from hermes.routing.weighing import Weighing
from hermes.routing.weights import write_weights
from tests.routing.test_learned import WEIGHTS
from tests.support.logbook import Logbook

ENTRIES = [IntentEntry("log.show", "logs", {}), IntentEntry("service.restart", "services", {"reboot": 0.9})]


@pytest.fixture
def log() -> Iterator[Logbook]:
    with Logbook() as book:
        yield book


def followed(path: Path, log: Logbook) -> tuple[Router, Weighing]:
    router = Router(["prefix", "keyword"], Thresholds(), entries=ENTRIES)
    return router, Weighing(router, path, log=log.log)


async def weighed(path: Path, log: Logbook) -> tuple[Router, Weighing]:
    """Return a router that goes by weights that were found in a file."""
    router, weighing = followed(path, log)
    write_weights(WEIGHTS, path)
    await weighing.look()
    return router, weighing


def led_to(router: Router, text: str) -> str:
    return router.route(text).decision.intent


async def test_a_file_that_comes_changes_and_goes_is_followed(tmp_path: Path, log: Logbook) -> None:
    path = tmp_path / "weights.json"
    router, weighing = followed(path, log)
    await weighing.look()
    assert (led_to(router, "看日志"), weighing.trouble) == ("", None)

    write_weights(WEIGHTS, path)
    await weighing.look()
    assert led_to(router, "看日志") == "log.show"

    turned = WEIGHTS.intents["service.restart"]
    write_weights(
        replace(
            WEIGHTS,
            intents={**WEIGHTS.intents, "log.show": turned, "service.restart": WEIGHTS.intents["log.show"]},
        ),
        path,
    )
    await weighing.look()
    assert led_to(router, "看日志") == "service.restart"

    path.unlink()
    await weighing.look()
    assert (led_to(router, "看日志"), led_to(router, "reboot"), weighing.trouble) == (
        "",
        "service.restart",
        None,
    )
    assert [line["event"] for line in log.lines()] == [
        "router_weights",
        "router_weights",
        "router_weights_gone",
    ]


async def test_a_file_that_cannot_be_used_leaves_what_was_there_in_force_and_says_why(
    tmp_path: Path, log: Logbook
) -> None:
    path = tmp_path / "weights.json"
    router, weighing = await weighed(path, log)
    path.write_text('{"format": 2}')
    await weighing.look()
    await weighing.look()
    assert led_to(router, "看日志") == "log.show"
    assert weighing.trouble is not None
    assert "weights.json" in weighing.trouble
    assert [line["event"] for line in log.lines()] == ["router_weights", "router_weights_refused"]
    write_weights(WEIGHTS, path)
    await weighing.look()
    assert weighing.trouble is None


async def test_weights_are_fitted_to_the_intents_that_there_are(tmp_path: Path, log: Logbook) -> None:
    path = tmp_path / "weights.json"
    router, weighing = await weighed(path, log)
    assert led_to(router, "run the flow") == ""
    router.use(weighing.prepared([*ENTRIES, IntentEntry("flow.run", "flows", {})]))
    await weighing.look()
    assert led_to(router, "run the flow") == "flow.run"
    assert led_to(router, "看日志") == "log.show"


async def test_what_has_not_changed_is_not_read_again(tmp_path: Path, log: Logbook) -> None:
    path = tmp_path / "weights.json"
    router, weighing = await weighed(path, log)
    lexicon = router.lexicon
    await weighing.look()
    assert router.lexicon is lexicon
    os.utime(path)
    await weighing.look()
    assert len(log.lines()) == 2


async def test_a_lexicon_that_was_prepared_before_the_weights_came_goes_by_them_all_the_same(
    tmp_path: Path, log: Logbook
) -> None:
    path = tmp_path / "weights.json"
    router, weighing = followed(path, log)
    await weighing.look()
    prepared = weighing.prepared(ENTRIES)
    write_weights(WEIGHTS, path)
    await weighing.look()
    router.use(prepared)
    await weighing.look()
    assert led_to(router, "看日志") == "log.show"


async def test_permissions_that_change_make_the_file_be_read_again(tmp_path: Path, log: Logbook) -> None:
    path = tmp_path / "weights.json"
    _, weighing = await weighed(path, log)
    path.chmod(0o600)
    await weighing.look()
    assert len(log.lines()) == 2


async def test_a_file_that_cannot_be_reached_is_refused_and_not_taken_for_gone(
    tmp_path: Path, log: Logbook
) -> None:
    path = tmp_path / "weights.json"
    router, weighing = await weighed(path, log)
    path.unlink()
    path.symlink_to(path.name)  # it leads to itself
    await weighing.look()
    assert led_to(router, "看日志") == "log.show"
    assert weighing.trouble is not None
    assert "weights.json" in weighing.trouble


async def test_what_nobody_foresaw_is_told_and_looked_at_again(tmp_path: Path, log: Logbook) -> None:
    router, weighing = followed(tmp_path / "no\0path", log)
    for _ in range(2):
        await weighing.look()
    assert weighing.trouble is not None
    assert [line["event"] for line in log.lines()] == ["router_weights_not_followed"] * 2
    assert led_to(router, "reboot") == "service.restart"
