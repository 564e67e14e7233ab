"""Reads the Python code that an entry names, as far as that goes without running it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from hermes.errors import ConfigError

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def entry_problems(entry: str, directory: Path) -> Iterator[ConfigError]:
    """Find what would keep `module:function` in `directory` from being loaded; nothing if there is no such module."""
    name, _, function = entry.partition(":")
    module = directory.joinpath(*name.split("."))
    file = next((one for one in (module / "__init__.py", module.with_suffix(".py")) if one.is_file()), None)
    if file is None:
        return
    try:
        tree = ast.parse(file.read_bytes(), filename=file.name)
    except SyntaxError as error:
        yield ConfigError(f"{type(error).__name__}: {error.msg}", file=str(file), line=error.lineno)
        return
    except ValueError as error:
        yield ConfigError(f"cannot be read as Python: {error}", file=str(file))
        return
    except RecursionError:
        return  # deeper than this reader goes; Python itself may
    yield from _function_problems(tree, function, file=file)


def _function_problems(tree: ast.Module, function: str, *, file: Path) -> Iterator[ConfigError]:
    found = [one for one in tree.body if isinstance(one, _Function) and one.name == function]
    if not found:
        if not _may_bind(tree, function):
            detail = f"has no function {function}; write `async def {function}(message, context)`, or name another in entry"
            yield ConfigError(detail, file=str(file))
        return
    last = found[-1]
    if isinstance(last, ast.FunctionDef) and not last.decorator_list:  # a decorator may make it async
        detail = f"{function} is not async; write `async def {function}(message, context)`"
        yield ConfigError(detail, file=str(file), line=last.lineno)


def _may_bind(tree: ast.Module, name: str) -> bool:
    """Say whether a module may have a name that it does not define as a function: one that is assigned or imported."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == name:
            return True
        if isinstance(node, _Function | ast.ClassDef) and node.name in {name, "__getattr__"}:
            return True
        if isinstance(node, ast.Import | ast.ImportFrom) and any(
            one.name == "*" or (one.asname or one.name) == name for one in node.names
        ):
            return True
    return False
