"""Code that cannot be loaded is found by reading it; what reading cannot tell is left to the worker."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes.host.manifests.entry_code import entry_problems


def told(folder: Path, code: str | bytes, entry: str = "plugin:handle") -> list[str]:
    content = code if isinstance(code, bytes) else code.encode()
    (folder / "plugin.py").write_bytes(content)
    return [f"{one.line}: {one.detail}" for one in entry_problems(entry, folder)]


@pytest.mark.parametrize(
    "code",
    [
        "async def handle(message, context):\n    return '你好'\n",
        "from other import handle\n",
        "from other import run as handle\n",
        "from other import *\n",
        "handle = make()\n",
        "if True:\n    async def handle(m, c): ...\n",
        "def handle(m, c): ...\nasync def handle(m, c): ...\n",
        "@traced\ndef handle(m, c): ...\n",
        "def __getattr__(name): ...\n",
    ],
)
def test_what_may_well_be_loaded_is_no_problem(tmp_path: Path, code: str) -> None:
    assert told(tmp_path, code) == []


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("import asyncio\n\nasync def handle(m, c)\n    return 1\n", "3: SyntaxError: expected ':'"),
        ("def f():\n  x\n    y\n", "3: IndentationError: unexpected indent"),
        ("def handle(m, c): ...\n", "1: handle is not async; write `async def handle(message, context)`"),
        (
            "async def handel(m, c): ...\n",
            "None: has no function handle; write `async def handle(message, context)`, or name another in entry",
        ),
        (
            "",
            "None: has no function handle; write `async def handle(message, context)`, or name another in entry",
        ),
    ],
)
def test_what_cannot_be_loaded_is_told_with_its_line(tmp_path: Path, code: str, problem: str) -> None:
    assert told(tmp_path, code) == [problem]


@pytest.mark.parametrize("code", [b"\xff\xfe", b"a = '\xe4'\n", b"x = 1\0\n"])
def test_what_is_no_text_is_a_problem(tmp_path: Path, code: bytes) -> None:
    assert len(told(tmp_path, code)) == 1


def test_a_package_is_looked_at_too(tmp_path: Path) -> None:
    (tmp_path / "tool" / "deep").mkdir(parents=True)
    (tmp_path / "tool" / "deep" / "__init__.py").write_text("def run(m, c): ...\n")
    (problem,) = entry_problems("tool.deep:run", tmp_path)
    assert (problem.file, problem.line) == (str(tmp_path / "tool" / "deep" / "__init__.py"), 1)


def test_a_module_that_is_not_there_is_told_elsewhere(tmp_path: Path) -> None:
    assert list(entry_problems("nowhere:handle", tmp_path)) == []
