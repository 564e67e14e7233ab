"""Packages that are installed as far as metadata goes: a folder on the path with what an installer leaves there."""

from __future__ import annotations

from pathlib import Path


def install(site: Path, name: str, version: str, *needs: str) -> None:
    """Leave the metadata of a package in `site`; `needs` are its own requirements, extras included."""
    folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir(parents=True)
    extras = sorted({need.split('"')[1] for need in needs if "extra ==" in need})
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        f"Version: {version}",
        *(f"Requires-Dist: {need}" for need in needs),
        *(f"Provides-Extra: {extra}" for extra in extras),
    ]
    (folder / "METADATA").write_text("\n".join(lines) + "\n", encoding="utf-8")
