"""hermes.sdk.testing shows a handler's result as the daemon would see it."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from hermes.sdk.testing import Call, Line, load, run

Values = dict[str, Any]


async def greet(message: Values, context: Values) -> Values:
    await context["progress"]("正在想", 50)
    await context["progress"]("almost")
    context["log"].warning("greeting %s", message["payload"]["name"])
    context["log"].debug("not told by a worker either")
    return {"data": {"text": f"hello {message['payload']['name']}"}, "error": None, "warning": "tired"}


async def test_result_progress_and_logs_of_a_call_are_kept() -> None:
    outcome = await run(greet, {"name": "小明"})
    assert outcome.data == {"text": "hello 小明"}
    assert outcome.error is None
    assert outcome.warning == "tired"
    assert outcome.progress == (Line("正在想", 50), Line("almost"))
    assert outcome.logs == ("greeting 小明",)


@pytest.mark.parametrize(
    ("result", "data"),
    [
        (None, None),
        ("text", "text"),
        ([1, 2], [1, 2]),
        ((1, (2,)), [1, [2]]),
        ({}, {}),
        ({"warning": "only"}, {"warning": "only"}),
        ({"data": 1, "other": 2}, {"data": 1, "other": 2}),
        ({"data": {"a": 1}}, {"a": 1}),
        ({"error": None}, None),
    ],
)
async def test_whatever_is_no_envelope_is_the_data(result: Any, data: Any) -> None:
    async def handle(message: Values, context: Values) -> Any:
        return result

    outcome = await run(handle, {})
    assert (outcome.data, outcome.error) == (data, None)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("没有权限", {"code": "plugin_error", "message": "没有权限", "retryable": False}),
        ({"code": "not_found", "message": "no"}, {"code": "not_found", "message": "no", "retryable": False}),
        (
            {"code": "upstream_unavailable", "message": "no", "retryable": True},
            {"code": "upstream_unavailable", "message": "no", "retryable": True},
        ),
    ],
)
async def test_an_error_has_code_sentence_and_verdict(error: Any, expected: Values) -> None:
    async def handle(message: Values, context: Values) -> Values:
        return {"data": None, "error": error}

    assert (await run(handle, {})).error == expected


async def test_the_handler_sees_what_the_daemon_would_give_it(tmp_path: Path) -> None:
    seen: Values = {}

    async def handle(message: Values, context: Values) -> None:
        seen.update(message=message, **context)

    call = Call(intent="a.b", request_id="r-1", data_dir=tmp_path, session={"summary": "旧事"}, timeout=9)
    await run(handle, {"x": (1,)}, config={"a": 1}, secrets={"TOKEN": "t"}, locale="zh", call=call)
    assert seen["message"]["payload"] == {"x": [1]}
    assert (seen["message"]["intent"], seen["message"]["request_id"]) == ("a.b", "r-1")
    assert (seen["request_id"], seen["idempotency_key"]) == ("r-1", "r-1")
    assert (seen["config"], seen["secrets"]) == ({"a": 1}, {"TOKEN": "t"})
    assert (seen["locale"], seen["session"], seen["data_dir"]) == ("zh", {"summary": "旧事"}, str(tmp_path))
    assert seen["principal"]["kind"] == "local"
    assert 0 < seen["deadline"] - time.time() <= 9


async def test_a_call_gets_a_folder_of_its_own_that_is_gone_afterwards() -> None:
    folders: list[Path] = []

    async def handle(message: Values, context: Values) -> str:
        folders.append(Path(context["data_dir"]))
        folders[-1].joinpath("note").write_text("kept")
        return folders[-1].joinpath("note").read_text()

    assert (await run(handle, {})).data == "kept"
    assert (await run(handle, {})).data == "kept"
    assert len(set(folders)) == 2
    assert not any(folder.exists() for folder in folders)


async def test_what_a_handler_raises_reaches_the_test() -> None:
    async def handle(message: Values, context: Values) -> None:
        raise LookupError("nothing there")

    with pytest.raises(LookupError, match="nothing there"):
        await run(handle, {})


async def test_a_handler_that_takes_too_long_is_cancelled() -> None:
    ended: list[str] = []

    async def handle(message: Values, context: Values) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    with pytest.raises(TimeoutError):
        await run(handle, {}, call=Call(timeout=0.05))
    assert ended == ["cancelled"]


@pytest.mark.parametrize("result", [float("nan"), {1, 2}, object(), {"data": b"bytes"}])
async def test_a_result_that_json_cannot_hold_is_refused(result: Any) -> None:
    async def handle(message: Values, context: Values) -> Any:
        return result

    with pytest.raises((TypeError, ValueError)):
        await run(handle, {})


async def test_calls_side_by_side_keep_their_lines_apart() -> None:
    async def handle(message: Values, context: Values) -> None:
        for number in range(3):
            await context["progress"](f"{message['payload']['name']} {number}")
            context["log"].info(message["payload"]["name"])
            await asyncio.sleep(0)

    outcomes = await asyncio.gather(run(handle, {"name": "a"}), run(handle, {"name": "b"}))
    for name, outcome in zip("ab", outcomes, strict=True):
        assert [line.text for line in outcome.progress] == [f"{name} {number}" for number in range(3)]
        assert outcome.logs == (name,) * 3


def plugin(folder: Path, code: str, manifest: Values | None = None) -> Path:
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text("\ufeff" + json.dumps(manifest or {}), encoding="utf-8")
    entry = (manifest or {}).get("entry", "plugin:handle").partition(":")[0]
    (folder / f"{entry}.py").write_text(code, encoding="utf-8")
    return folder


async def test_plugins_whose_modules_are_called_alike_do_not_meet(tmp_path: Path) -> None:
    code = "NAME = {!r}\nasync def handle(message, context):\n    return NAME\n"
    one, two = (load(plugin(tmp_path / name, code.format(name))) for name in ("一", "two"))
    assert [(await run(one, {})).data, (await run(two, {})).data] == ["一", "two"]


async def test_the_entry_of_the_manifest_is_followed(tmp_path: Path) -> None:
    manifest = {"entry": "weather:forecast"}
    folder = plugin(tmp_path / "w", "async def forecast(message, context):\n    return 'sun'\n", manifest)
    assert (await run(load(folder), {})).data == "sun"


async def test_a_package_may_import_its_own_parts(tmp_path: Path) -> None:
    folder = plugin(tmp_path / "p", "")
    (folder / "plugin.py").unlink()
    (folder / "plugin").mkdir()
    (folder / "plugin" / "__init__.py").write_text("from .words import handle\n")
    (folder / "plugin" / "words.py").write_text("async def handle(message, context):\n    return 'part'\n")
    assert (await run(load(folder), {})).data == "part"


@pytest.mark.parametrize("runtime", ["executable", "process", "http"])
def test_a_plugin_without_a_handler_is_refused_with_what_to_do(tmp_path: Path, runtime: str) -> None:
    folder = plugin(tmp_path / "p", "", {"runtime": runtime})
    with pytest.raises(ValueError, match=f"the runtime of p is {runtime}, .* new NAME --runtime {runtime}`"):
        load(folder)


def test_a_folder_without_a_manifest_or_a_handler_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path)
    with pytest.raises(AttributeError):
        load(plugin(tmp_path / "empty", ""))
    (plugin(tmp_path / "bare", "") / "plugin.py").unlink()
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "bare")
