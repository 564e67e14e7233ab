"""What is told of an exception: one readable line and the place in the plugin's code; the trace goes to the log."""

from __future__ import annotations

import os
import traceback
from pathlib import Path
from typing import Any

from hermes.sdk.wire import text_of

_SENTENCE = 300  # characters of an exception's text that travel in an envelope


def describe(error: BaseException, root: Path) -> str:
    """Return one readable line for an exception: its type and the first line of its text, paths cut to names.

    The text of a SyntaxError names its file and line; for one below `root` `locate` does that.
    """
    text = text_of(error)
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).is_relative_to(root):
        text = error.msg
    for name in ("path", "filename", "filename2"):  # of ImportError and OSError
        path = getattr(error, name, None)
        if isinstance(path, str) and os.sep in path:
            text = text.replace(path, Path(path).name)
    first_line = (text.strip().splitlines() or [""])[0][:_SENTENCE]
    return f"{type(error).__name__}: {first_line}" if first_line else type(error).__name__


def locate(error: BaseException, root: Path) -> dict[str, Any] | None:
    """Return `{"file", "line"}` of the plugin's own code that an exception came from, or None if none did."""
    if isinstance(error, SyntaxError) and error.filename:
        places = [(error.filename, error.lineno or 0)]
    else:
        places = [(frame.filename, frame.lineno or 0) for frame in traceback.extract_tb(error.__traceback__)]
    for file, line in reversed(places):
        path = Path(file)
        if path.is_relative_to(root):
            return {"file": str(path.relative_to(root)), "line": line}
    return None
