"""What all sample plugins have in common: manifests that load, code that needs nothing, sentences that arrive."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hermes.entries import entries_of
from hermes.host.manifests.manifest import Intent, Manifest, load_manifest
from hermes.host.manifests.parameters import Parameters
from hermes.routing.decision import Thresholds
from hermes.routing.router import Router
from tests.support.samples import SAMPLES

ROOT = Path(__file__).parents[2]
MANIFESTS = [load_manifest(folder) for folder in SAMPLES.values()]
INTENTS = [(manifest.name, intent) for manifest in MANIFESTS for intent in manifest.intents]
EXAMPLES = [
    pytest.param(intent, text, id=f"{intent.name}: {text}")
    for _, intent in INTENTS
    for text in intent.examples
]


@pytest.fixture(scope="module")
def router() -> Router:
    entries = [entry for manifest in MANIFESTS for entry in entries_of(manifest)]
    return Router(["prefix", "keyword"], Thresholds(), entries=entries)


@pytest.mark.parametrize("folder", SAMPLES.values(), ids=SAMPLES)
def test_a_plugin_is_called_like_its_folder_and_needs_no_variable(folder: Path) -> None:
    manifest = load_manifest(folder)
    assert manifest.name == folder.name
    assert (manifest.env, manifest.dependencies) == ((), ())


IN_PYTHON = [manifest for manifest in MANIFESTS if manifest.runtime == "python"]


@pytest.mark.parametrize("manifest", IN_PYTHON, ids=lambda manifest: manifest.name)
def test_a_plugin_needs_the_standard_library_and_the_sdk_alone(manifest: Manifest) -> None:
    folder, (module, _, name) = SAMPLES[manifest.name], manifest.options.entry.partition(":")
    code = f"import {module} as plugin, sys; assert plugin.{name}.__code__.co_argcount == 2\n"
    code += "assert not [name for name in sys.modules if name.startswith('hermes.') and name[:10] != 'hermes.sdk']"
    command = [sys.executable, "-S", "-B", "-W", "error", "-c", code]
    subprocess.run(command, cwd=folder, env={"PYTHONPATH": str(ROOT)}, check=True, timeout=20)


@pytest.mark.parametrize("intent", [intent for _, intent in INTENTS], ids=lambda intent: intent.name)
def test_an_intent_speaks_chinese_and_english(intent: Intent) -> None:
    assert set(intent.ack) == {"zh", "en"}
    for words in (intent.keywords, intent.examples):
        assert {text.isascii() for text in words} == {True, False}


@pytest.mark.parametrize(("intent", "text"), EXAMPLES)
def test_an_example_of_the_manifest_arrives_with_its_parameters(
    router: Router, intent: Intent, text: str
) -> None:
    decision = router.route(text).decision
    assert (decision.outcome, decision.intent, decision.warning) == ("dispatch", intent.name, None)
    assert decision.confidence >= 0.8
    parameters = Parameters(intent)
    assert parameters.problems(parameters.fill(text, {"text": text})) == []


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("select 1", "db.query"),
        ("is https://example.com up", "http.check"),
        ("https://example.com 通不通", "http.check"),
        ("https://example.com 通吗", "http.check"),
        ("8.8.8.8:53 端口通不通", "http.check"),
    ],
)
def test_a_sentence_that_a_page_tells_to_say_is_taken_without_a_doubt(
    router: Router, text: str, intent: str
) -> None:
    decision = router.route(text).decision
    assert (decision.outcome, decision.intent, decision.warning) == ("dispatch", intent, None)


@pytest.mark.parametrize("intent", [intent for _, intent in INTENTS], ids=lambda intent: intent.name)
def test_a_keyword_that_decides_alone_decides_for_its_own_intent(router: Router, intent: Intent) -> None:
    heavy = [keyword for keyword, weight in intent.keywords.items() if weight > 0.7]
    decisions = {keyword: router.route(keyword).decision for keyword in heavy}
    assert {keyword: one.intent or one.outcome for keyword, one in decisions.items()} == dict.fromkeys(
        heavy, intent.name
    )
