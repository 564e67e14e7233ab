"""Tells how large the layer is that the image adds to its base, and what in it is large; needs no container engine.

It builds the layer with the script that the Dockerfile uses, into a folder that it throws away.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib.metadata import Distribution, distributions
from pathlib import Path

from lockfile import ROOT, read

CORE_AIM = 60
EVERYTHING_AIM = 110
_BIGGEST = 12


def megabytes(size: int) -> str:
    """Return a size in bytes as people read it; a megabyte is a million, as the engines count."""
    return f"{size / 1e6:6.1f} MB"


def size_of(path: Path) -> int:
    """Return the bytes of a file, or of all files below a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.lstat().st_size for file in files if not file.is_dir() or file.is_symlink())


def build(layer: Path, extras: list[str]) -> None:
    """Build the application layer into `layer`; CalledProcessError when a step fails."""
    for step in (["packages", str(layer), *extras], ["hermes", str(layer)]):
        subprocess.run([ROOT / "scripts" / "layer", *step], check=True, stdout=subprocess.DEVNULL)


def packages(layer: Path) -> list[tuple[int, str]]:
    """Return size and name with version of each installed package, the largest first."""
    (site,) = layer.glob("lib/python*/site-packages")
    sizes = [
        (_installed(package, site), f"{package.name} {package.version}")
        for package in distributions(path=[str(site)])
    ]
    return sorted(sizes, reverse=True)


def _installed(package: Distribution, site: Path) -> int:
    tops = {file.parts[0] for file in package.files or () if file.parts[0] not in ("..", "__pycache__")}
    return sum(size_of(site / top) for top in tops)


def report(title: str, layer: Path, *, aim: int) -> None:
    """Print the size of a layer against its aim, and its biggest packages."""
    size = size_of(layer)
    verdict = "met" if size <= aim * 1e6 else "NOT met"
    print(f"{title:<44}{megabytes(size)}   aim: {aim} MB at most, {verdict}")


def main() -> int:
    """Build, measure and print; the aims are told, not enforced."""
    extras = sorted(read()[0]["project"].get("optional-dependencies", {}))
    with tempfile.TemporaryDirectory() as folder:
        core = Path(folder, "core")
        build(core, [])
        everything = Path(folder, "everything") if extras else core
        if extras:
            build(everything, extras)
        report("application layer, core", core, aim=CORE_AIM)
        report(f"everything ({', '.join(extras) or 'there are no extras'})", everything, aim=EVERYTHING_AIM)
        for size, name in packages(everything)[:_BIGGEST]:
            print(f"    {name:<40}{megabytes(size)}")
    print("Both without the base image, whose Python they use.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
