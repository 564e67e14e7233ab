"""`hermes plugins new`: make a plugin that works, with its test, to begin from."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import click

from hermes.cli.address import configured_address
from hermes.cli.configuration import find_plugins
from hermes.cli.plugins.scaffold import Made, kinds, owner, scaffold
from hermes.cli.problems import shown
from hermes.cli.terminal import print_text
from hermes.config.json_file import read_json
from hermes.host.manifests.manifest import MANIFEST_FILE

_is_name = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}").fullmatch


def _name(value: str) -> str:
    """Return a name that a plugin may have."""
    if not _is_name(value):
        raise click.BadParameter(
            "a name has 1 to 64 characters of a-z 0-9 - _ and begins with a letter or digit"
        )
    return value


@click.command("new")
@click.argument("name", type=_name)
@click.option(
    "--runtime",
    type=click.Choice(kinds()),
    default="python",
    show_default=True,
    help="How it is run: a handler in Python, a program for each call, a worker in any language, or a request.",
)
@click.option(
    "--dir",
    "parent",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder of plugins to make it in; the plugins_dir of ./hermes.yaml if not given.",
)
def command(name: str, *, runtime: str, parent: Path | None) -> None:
    """Make a plugin called NAME that works: manifest, code and test. Change them into what you need."""
    url = configured_address(os.environ).url
    parent = parent or find_plugins(None, os.environ)
    if other := owner(name, parent):
        raise click.ClickException(
            f"{shown(other.absolute())} has a plugin named {name} already; choose another name"
        )
    try:
        made = scaffold(name, parent, kind=runtime, url=url)
    except FileExistsError:
        raise click.ClickException(
            f"{shown((parent / name).absolute())} is there already; choose another name"
        ) from None
    except OSError as error:
        raise click.ClickException(f"{parent} cannot be written: {error.strerror or error}") from None
    _print(parent / name, made)
    if runtime == "http":
        print_text(f"It asks the daemon at {url}; url in manifest.json is where to change that.")


def _print(place: Path, made: Made) -> None:
    folder = shown(place.absolute())
    quoted = shlex.quote(folder)
    print_text(f"made {folder}: {', '.join(made.names)}")
    if made.schema:
        print_text(f"made {shown(made.schema.absolute())}, by which editors complete and check manifests")
    print_text(f"check it:  hermes plugins check {quoted}")
    print_text(f"test it:   python -m pytest {quoted}")
    print_text(f"try it:    hermes send {shlex.quote(_example(place))}")
    print_text("A daemon that watches this folder takes it in by itself, now and at every change.")


def _example(folder: Path) -> str:
    """Return the first sentence that leads to a plugin."""
    example: str = read_json(folder / MANIFEST_FILE).data["intents"][0]["examples"][0]
    return example
