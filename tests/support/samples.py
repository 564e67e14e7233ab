"""The plugins that tests may use: those that are shipped and those made for tests; what else lies in plugins/ is a user's."""

from __future__ import annotations

from pathlib import Path

_SHIPPED = Path(__file__).parents[2] / "plugins"
_MADE = Path(__file__).parent / "plugins"

SAMPLES = {
    name: _SHIPPED / name
    for name in (
        "disk-usage",
        "echo",
        "gitlab-pipeline",
        "gitlab-run",
        "http-check",
        "ip-info",
        "sqlite-query",
        "system-status",
        "ticket-create",
    )
}
"""The folder of every plugin that is shipped, by its name. A new sample is added here, and every test takes it up."""

PLUGINS = SAMPLES | {file.parent.name: file.parent for file in sorted(_MADE.glob("*/manifest.json"))}
"""The folder of every plugin that a test may run, by its name."""
