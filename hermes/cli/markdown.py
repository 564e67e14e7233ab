"""Prints Markdown: laid out on a terminal, as it is elsewhere. What it says is data and is trusted with nothing."""

from __future__ import annotations

from rich.markdown import Markdown

from hermes.cli.terminal import console, print_text
from hermes.cli.text import printable


def print_markdown(text: str) -> None:
    """Print a digest."""
    out = console()
    if out.is_terminal:
        out.print(layout(text))
    else:
        print_text(text)


def layout(text: str) -> Markdown:
    """Return Markdown in which a line end stays one, and HTML and control characters do nothing."""
    laid_out = Markdown(printable(text).replace("\n", "  \n"), hyperlinks=False)
    for token in laid_out.parsed:
        if token.type == "html_block":
            token.type = "code_block"
        for child in token.children or ():
            if child.type == "html_inline":
                child.type = "text"
            child.content = printable(child.content)  # an entity may stand for a control character
    return laid_out
