"""echo: what goes in comes out, at once, unless steps are asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hermes.host.manifests.manifest import load_manifest
from hermes.host.manifests.parameters import Parameters
from hermes.sdk.testing import Line, load, run

FOLDER = Path(__file__).parents[2] / "plugins" / "echo"

handle = load(FOLDER)


@pytest.mark.parametrize("text", ["hello", "你好，世界", "👩‍👩‍👧 ｆｕｌｌ　ｗｉｄｔｈ", "", "line\nline"])
async def test_the_text_comes_back_as_it_was(text: str) -> None:
    outcome = await run(handle, {"text": text})
    assert (outcome.data, outcome.error, outcome.warning) == ({"text": text}, None, None)


async def test_other_fields_come_back_too() -> None:
    payload: dict[str, Any] = {"text": "hi", "number": 1.5, "list": [None, {"深": True}]}
    assert (await run(handle, payload)).data == payload


async def test_there_is_no_progress_unless_it_is_asked_for() -> None:
    assert (await run(handle, {"text": "hello"})).progress == ()


@pytest.mark.parametrize(("locale", "word"), [("zh", "正在复述"), ("en", "echoing")])
async def test_steps_are_told_in_the_language_of_the_request(locale: str, word: str) -> None:
    outcome = await run(handle, {"text": "hi", "steps": 2, "delay": 0}, locale=locale)
    assert outcome.progress == (Line(f"{word} 1/2", 50.0), Line(f"{word} 2/2", 100.0))
    assert outcome.data["text"] == "hi"


@pytest.mark.parametrize(
    ("payload", "wrong"),
    [
        ({"steps": 21}, "steps"),
        ({"steps": -1}, "steps"),
        ({"steps": "many"}, "steps"),
        ({"delay": 6}, "delay"),
        ({"text": 1}, "text"),
    ],
)
def test_the_manifest_refuses_what_the_handler_could_not_use(payload: dict[str, Any], wrong: str) -> None:
    (intent,) = load_manifest(FOLDER).intents
    assert [problem.field for problem in Parameters(intent).problems(payload)] == [wrong]


def test_the_longest_demonstration_fits_into_the_time_limit() -> None:
    manifest = load_manifest(FOLDER)
    properties = (manifest.intents[0].parameters or {})["properties"]
    assert manifest.timeout is not None
    assert properties["steps"]["maximum"] * properties["delay"]["maximum"] < manifest.timeout
