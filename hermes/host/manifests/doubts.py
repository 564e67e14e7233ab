"""What is legal in a plugin and likely not meant; nothing here keeps it from running."""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

from hermes.config.document import Document
from hermes.errors import ConfigError
from hermes.host.files.fingerprint import counts
from hermes.host.manifests.inspection import keyword_place
from hermes.host.manifests.manifest import Intent, Manifest

_USUAL = frozenset({"__pycache__", "__MACOSX", "node_modules"})
_MADE = (".pyc", ".pyo", "~", ".swp", ".swo", ".swx")
_HIDDEN = (
    ".git",
    ".hg",
    ".svn",
    ".idea",
    ".vscode",
    ".venv",
    ".pytest_cache",
    ".ruff_cache",
    ".mypy_cache",
    ".DS_Store",
)


def doubts(manifest: Manifest, document: Document, *, directory: Path) -> Iterator[ConfigError]:
    """Find what a plugin's author should look at again; `document` is the manifest as it was written."""
    for index, intent in enumerate(manifest.intents):
        for key, sentence in _of_intent(intent):
            yield document.problem(("intents", index, key), sentence)
    yield from _shared_keywords(manifest, document)
    yield from _left_behind(directory)


def twins(plugins: Iterable[tuple[Manifest, Document]]) -> Iterator[ConfigError]:
    """Find intents that no sentence can tell from one of an earlier plugin: same keywords, weights and priority."""
    first: dict[tuple[frozenset[tuple[str, float]], int], tuple[str, str]] = {}
    for manifest, document in plugins:
        for index, intent in enumerate(manifest.intents):
            keywords = frozenset((_sense(keyword), weight) for keyword, weight in intent.keywords.items())
            plugin, other = first.setdefault((keywords, intent.priority), (manifest.name, intent.name))
            if keywords and plugin != manifest.name:
                detail = (
                    f"{intent.name} has the same keywords, weights and priority as {other} of plugin {plugin!r}: every "
                    "sentence for one of them is asked back about; give them different ones"
                )
                yield document.problem(("intents", index, "keywords"), detail)


def _sense(keyword: str) -> str:
    return unicodedata.normalize("NFKC", keyword).casefold()


def _of_intent(intent: Intent) -> Iterator[tuple[str, str]]:
    if intent.writes and intent.confirm is None:
        yield "confirm", "a call changes something, and nobody is asked before; is that meant?"
    if not intent.keywords:
        also = ", unless hermes router learn has learned its examples" if intent.examples else ""
        yield (
            "keywords",
            f"without keywords no sentence leads to {intent.name}, only /{intent.name} does{also}",
        )
    known = (intent.parameters or {}).get("properties")
    for language, sentence in intent.ack.items():
        for name in _placeholders(sentence):
            if not isinstance(known, dict) or name not in known:
                yield (
                    "ack",
                    f"{{{name}}} in {language!r} is no parameter, so a plain sentence is said instead",
                )


def _placeholders(sentence: str) -> list[str]:
    try:
        return [name for _, name, _, _ in string.Formatter().parse(sentence) if name is not None]
    except ValueError:
        return []


def _shared_keywords(manifest: Manifest, document: Document) -> Iterator[ConfigError]:
    """Find keywords that speak for two intents alike: the text that holds only those cannot be decided."""
    first: dict[tuple[str, float, int], Intent] = {}
    for index, intent in enumerate(manifest.intents):
        for keyword, weight in intent.keywords.items():
            sense = _sense(keyword), weight, intent.priority
            other = first.setdefault(sense, intent)
            if weight > 0 and other is not intent:
                yield document.problem(
                    keyword_place(document, index, keyword=keyword),
                    f"weighs {weight:g} for {other.name} too; a text with nothing else is asked back about",
                )


def _left_behind(directory: Path) -> Iterator[ConfigError]:
    """Find files that do not count, and so are not there when the plugin runs, but for those that nobody misses."""
    for path in sorted(directory.iterdir()):
        name = path.name
        if not counts(name) and name not in _USUAL and name not in _HIDDEN and not name.endswith(_MADE):
            yield ConfigError(
                "does not count as a part of the plugin: it is not there when it runs, and a change of it loads nothing",
                file=str(path),
            )
