"""Shows how far a message is: a line that moves on a terminal, one line a step elsewhere. Always on stderr."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TaskProgressColumn, TextColumn
from rich.table import Column
from rich.text import Text

from hermes.cli.terminal import console
from hermes.cli.text import one_line


class LiveProgress:
    """Follows one message while it is entered: `tell` it every event."""

    def __init__(self) -> None:
        self._console = console(stderr=True)
        self._bar = _new_bar(self._console) if self._console.is_terminal else None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task("", total=None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    @contextlib.contextmanager
    def hidden(self) -> Iterator[None]:
        """Leave the terminal to something else for a while."""
        if self._bar is None:
            yield
            return
        self._bar.stop()
        try:
            yield
        finally:
            self._bar.start()

    def tell(self, event: dict[str, Any]) -> None:
        """Show one event of the message."""
        line = _line(event)
        if line is None:
            return
        percent = event.get("percent")
        share = float(percent) if isinstance(percent, int | float) else None
        if self._bar is not None and self._task is not None:
            total = None if share is None else 100.0
            self._bar.update(self._task, description=line, total=total, completed=share or 0.0)
            self._bar.refresh()
        else:
            shown = line if share is None else f"{share:3.0f}% {line}"
            self._console.print(Text(shown), soft_wrap=True)


def _new_bar(on: Console) -> Progress:
    text = Column(ratio=1, no_wrap=True, overflow="ellipsis")
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False, table_column=text),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        console=on,
        transient=True,
        expand=True,
    )


def _line(event: dict[str, Any]) -> str | None:
    """Return an event as one line, None for one that needs no line."""
    match event.get("type"):
        case "TASK_RECEIVED":
            return f"accepted as {one_line(str(event.get('request_id')))}"
        case "TOOL_STARTED":
            attempt = event.get("attempt", 1)
            again = f", attempt {attempt}" if attempt != 1 else ""
            return f"running {one_line(str(event.get('intent')))}{again}"
        case "PROGRESS":
            return one_line(str(event.get("text", "")))
    return None
