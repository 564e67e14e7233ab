"""Holds the size of every file and function, and what must not stand in any file: rules that no linter has."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import hermes
from tests.support.samples import SAMPLES

ROOT = Path(__file__).resolve().parent.parent
FILE, FILE_WALL = 300, 400
FUNCTION, FUNCTION_WALL = 40, 60
ARGUMENTS, POSITIONAL = 6, 2

# Between the expected size and the wall only by name, with the lines there are: the list may shrink, and each line
# that is added to it is a question for the review.
LARGE_FILES: dict[str, int] = {}
LARGE_FUNCTIONS: dict[str, int] = {}
# Signatures that somebody else's protocol dictates, beside those of Python's special methods.
DICTATED = frozenset(
    {
        "hermes/host/http/names.py:Names.resolve",
        "hermes/observe/logs.py:_render",
        "hermes/observe/logs.py:_stamp",
    }
)

SPECIAL = re.compile(r"\.__(?!init__|new__|post_init__)\w+__$")

# In pieces, so that this file passes its own test.
FORBIDDEN = tuple(
    name + "." + domain
    for name, domain in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("deb.debian", "org"),
        ("security.debian", "org"),
        ("crates", "io"),
        ("proxy.golang", "org"),
        ("anaconda", "org"),
        ("docker", "io"),
        ("ghcr", "io"),
        ("quay", "io"),
    )
)


@dataclass(frozen=True, slots=True)
class Function:
    """A function as it stands in its file; `name` is `path:Class.function`, lines are those from `def` on."""

    name: str
    lines: int
    positional: int
    arguments: int


def project_files() -> list[Path]:
    """Return every text file of the project: not what was installed, built or kept by a running daemon.

    The folder itself and plugins/ are its user's too; what lies there and is not shipped is nobody else's business.
    """
    rooms = [ROOT / name for name in ("hermes", "tests", "benchmarks", "scripts", "docs", ".ci")]
    found = top_files()
    for room in [*rooms, *SAMPLES.values()]:
        found += [path for path in room.rglob("*") if "__pycache__" not in path.parts]
    return sorted(path for path in found if path.is_file() and not path.is_symlink())


def top_files() -> list[Path]:
    """Return the files beside README.md that git tracks; all of them outside a checkout, where nothing tells."""
    git = shutil.which("git")
    if git is not None and (ROOT / ".git").exists():
        command = [git, "ls-files", "-z", "--", ":(glob)*"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
        if listed.returncode == 0:
            return [ROOT / os.fsdecode(name) for name in listed.stdout.split(b"\0") if name]
    return [path for path in ROOT.iterdir() if path.name != ".git"]


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def code_files() -> list[Path]:
    scripts = ROOT / "scripts"
    return [
        path
        for path in project_files()
        if path.parent != ROOT and (path.suffix == ".py" or path.parent == scripts)
    ]


def functions() -> Iterator[Function]:
    for path in code_files():
        if path.suffix == ".py" and not relative(path).startswith("tests/"):
            yield from functions_in(ast.parse(path.read_text("utf-8")), prefix=relative(path) + ":")


def functions_in(tree: ast.AST, *, prefix: str, of_class: bool = False) -> Iterator[Function]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            bound = of_class and not any(
                isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list
            )
            positional = len(node.args.posonlyargs + node.args.args) - bound
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            yield Function(prefix + node.name, lines, positional, positional + len(node.args.kwonlyargs))
            yield from functions_in(node, prefix=f"{prefix}{node.name}.")
        elif isinstance(node, ast.ClassDef):
            yield from functions_in(node, prefix=f"{prefix}{node.name}.", of_class=True)
        else:
            yield from functions_in(node, prefix=prefix, of_class=of_class)


def oversized(sizes: dict[str, int], *, expected: int, named: dict[str, int]) -> list[str]:
    """Return a sentence for each size above what is expected or named, and for each name that is not needed."""
    large = [f"{name} has {size} lines" for name, size in sizes.items() if size > named.get(name, expected)]
    spare = [f"{name} need not be named any more" for name in named if sizes.get(name, 0) <= expected]
    return large + spare


def test_files_are_short_and_the_longer_ones_are_named() -> None:
    sizes = {relative(path): len(path.read_text("utf-8").splitlines()) for path in code_files()}
    wrong = oversized(sizes, expected=FILE, named=LARGE_FILES)
    assert not wrong, "\n".join(wrong)
    assert all(lines <= FILE_WALL for lines in LARGE_FILES.values())


def test_functions_are_short_and_the_longer_ones_are_named() -> None:
    sizes = {each.name: each.lines for each in functions()}
    wrong = oversized(sizes, expected=FUNCTION, named=LARGE_FUNCTIONS)
    assert not wrong, "\n".join(wrong)
    assert all(lines <= FUNCTION_WALL for lines in LARGE_FUNCTIONS.values())


def test_functions_take_few_arguments_and_name_all_but_two() -> None:
    crowded = {
        each.name: f"{each.name} takes {each.arguments} arguments, {each.positional} of them by position"
        for each in functions()
        if (each.arguments > ARGUMENTS or each.positional > POSITIONAL) and not SPECIAL.search(each.name)
    }
    wrong = [sentence for name, sentence in crowded.items() if name not in DICTATED]
    wrong += [f"{name} need not be named any more" for name in sorted(DICTATED - set(crowded))]
    assert not wrong, "\n".join(wrong)


def test_a_name_in_the_list_raises_the_limit_to_its_number_and_goes_when_it_is_not_needed() -> None:
    named = {"a.py": 350, "b.py": 350, "gone.py": 310}
    assert oversized({"a.py": 350, "b.py": 351, "c.py": 301}, expected=300, named=named) == [
        "b.py has 351 lines",
        "c.py has 301 lines",
        "gone.py need not be named any more",
    ]


def test_the_counting_sees_methods_nested_functions_and_what_is_not_counted() -> None:
    source = """
class A:
    def method(self, a, b, *, c): ...
    @staticmethod
    def static(a, b): ...
    if True:
        async def conditional(self, a, *rest, **more):
            def inner(a, /, b):
                return a
            return inner
"""
    assert list(functions_in(ast.parse(source), prefix="f.py:")) == [
        Function("f.py:A.method", 1, 2, 3),
        Function("f.py:A.static", 1, 2, 2),
        Function("f.py:A.conditional", 4, 1, 1),
        Function("f.py:A.conditional.inner", 2, 2, 2),
    ]


def test_no_file_names_the_host_of_a_package_registry() -> None:
    named = re.compile("|".join(rf"\b{re.escape(host)}\b" for host in FORBIDDEN), re.IGNORECASE)
    texts = {relative(path): path.read_bytes().decode("utf-8", "replace") for path in project_files()}
    assert {name: found[0] for name, text in texts.items() if (found := named.search(text))} == {}


def test_the_lock_holds_no_address_and_no_option_but_hashes() -> None:
    lines = (ROOT / "requirements.lock").read_text("utf-8").splitlines()
    code = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    assert code
    assert [line for line in lines if "://" in line or " @ " in line] == []
    assert [line for line in code if line.startswith("-") and not line.startswith("--hash=sha256:")] == []


def test_the_changelog_begins_with_the_version_of_the_package() -> None:
    versions = re.findall(
        r"^## \[(\d+\.\d+\.\d+)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    )
    assert versions[0] == hermes.__version__
