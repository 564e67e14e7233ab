"""`hermes check`: one line a problem, for readers and for scripts, and nothing is started or changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hermes.routing.weights import fingerprint, write_weights
from tests.cli.command import Hermes
from tests.conftest import StartDaemon
from tests.routing.test_learned import WEIGHTS
from tests.support.daemon import SAMPLES, furnish, write_plugin


def files_below(folder: Path) -> dict[Path, tuple[int, bytes]]:
    return {
        path: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.rglob("*") if path.is_file()
    }


def test_a_right_setup_is_told_in_one_line(lonely: Hermes, tmp_path: Path) -> None:
    furnish(tmp_path, plugins=[SAMPLES / "echo", SAMPLES / "system-status"])
    done = lonely("check")
    assert (done.code, done.err) == (0, "")
    assert done.lines == ["ok: hermes.yaml; plugins: echo, system-status; journal: none yet"]


def test_learned_weights_are_told_with_what_is_in_them(lonely: Hermes, tmp_path: Path) -> None:
    furnish(tmp_path)
    write_weights(WEIGHTS, tmp_path / "router-weights.json")
    known_by = fingerprint(tmp_path / "router-weights.json")
    told = (
        f"weights: router-weights.json (3 intents from 90 rows, 2026-11-30T09:00:00+00:00, hash {known_by})"
    )
    assert lonely("check").lines == [f"ok: hermes.yaml; plugins: none; journal: none yet; {told}"]
    assert json.loads(lonely("check", "--json").out)["weights"] == "router-weights.json"


def test_without_any_file_all_is_default_and_the_missing_folder_is_a_warning(
    lonely: Hermes, tmp_path: Path
) -> None:
    done = lonely("check")
    assert done.code == 0
    assert done.lines == [
        f"hermes.plugins_dir: warning: there is no folder {tmp_path / 'plugins'}",
        "ok: no hermes.yaml, so everything is default; plugins: none; journal: none yet",
    ]


def test_every_problem_of_the_configuration_is_a_line_with_file_line_and_key(
    lonely: Hermes, tmp_path: Path
) -> None:
    (tmp_path / "other.yaml").write_text(
        "hermes:\n  log_levl: info\nrouter:\n  min_confidence: 3\nmodels: {}\n"
    )
    done = lonely("check", "-c", "other.yaml")
    assert done.code == 1
    assert [line.split(": ", 2)[:2] for line in done.lines] == [
        ["other.yaml:2", "hermes.log_levl"],
        ["other.yaml:4", "router.min_confidence"],
        ["other.yaml:5", "models"],
    ]
    assert "did you mean log_level?" in done.lines[0]
    assert done.err == "plugins and journal can be checked once the configuration is right\n"


def test_manifests_are_looked_at_too_while_the_configuration_is_wrong_elsewhere(
    lonely: Hermes, tmp_path: Path
) -> None:
    furnish(tmp_path, {"router": {"min_confidence": 3}, "plugins": {"needy": {"rows": "${NOT_SET}"}}})
    write_plugin(tmp_path, "late", timeout=-1)
    write_plugin(
        tmp_path, "needy", config={"properties": {"rows": {"type": "integer"}}, "required": ["rows"]}
    )
    done = lonely("check")
    assert done.code == 1
    assert [line.split(": ", 2)[:2] for line in done.lines] == [
        ["hermes.yaml:1", "plugins.needy.rows"],
        ["hermes.yaml:1", "router.min_confidence"],
        ["plugins/late/manifest.json:1", "timeout"],
    ]
    assert done.err == (
        "the plugins' sections and the journal can be checked once the configuration is right\n"
    )


@pytest.mark.parametrize(
    "hermes", ["{plugins_dir: 5}", "{plugins_dir: '${NOT_SET}'}", "[]", "{plugins_dir: nowhere, port: 80}"]
)
def test_manifests_whose_place_is_uncertain_are_not_looked_at(
    lonely: Hermes, tmp_path: Path, hermes: str
) -> None:
    write_plugin(tmp_path, "late", timeout=-1)
    (tmp_path / "hermes.yaml").write_text(f"hermes: {hermes}\n")
    done = lonely("check")
    assert (done.code, len(done.lines)) == (1, 1)
    assert done.err == "plugins and journal can be checked once the configuration is right\n"


def test_files_are_named_without_detours(lonely: Hermes, tmp_path: Path) -> None:
    furnish(tmp_path)
    write_plugin(tmp_path, "late", timeout=-1)
    (tmp_path / "deep" / "chk").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "deep" / "chk")
    (tmp_path / "deep" / "chk" / "hermes.yaml").write_text("hermes: {plugins_dir: ../../plugins}\n")
    for config in ("deep/chk/hermes.yaml", "link/hermes.yaml"):
        (line,) = lonely("check", "-c", config).lines
        assert line.startswith("plugins/late/manifest.json:1: timeout: ")
    (tmp_path / "deep" / "chk" / "hermes.yaml").write_text("hermes: {plugins_dir: ../none}\n")
    warning = lonely("check", "-c", "link/hermes.yaml").lines[0]
    assert warning.endswith(f"there is no folder {tmp_path / 'deep' / 'none'}")


def test_a_file_that_was_named_and_is_not_there_is_a_problem(lonely: Hermes) -> None:
    done = lonely("check", "-c", "nowhere.yaml")
    assert (done.code, done.lines) == (1, ["nowhere.yaml: there is no such file"])


def test_problems_of_plugins_are_lines_with_their_manifest(lonely: Hermes, tmp_path: Path) -> None:
    furnish(tmp_path)
    write_plugin(tmp_path, "late", timeout=-1)
    write_plugin(tmp_path, "mute", keywords={"部署": 0.9, "！！": 0.5})
    done = lonely("check")
    assert done.code == 1
    assert [line.split(": ", 2)[:2] for line in done.lines] == [
        ["plugins/late/manifest.json:1", "timeout"],
        ["plugins/mute/manifest.json:1", "keywords.！！"],
    ]
    assert done.lines[1].endswith("holds no letter or digit and would never match; leave it out")


def test_json_names_what_was_looked_at_and_what_was_found(lonely: Hermes, tmp_path: Path) -> None:
    furnish(tmp_path, {"plugins": {"echoo": {}}}, [SAMPLES / "echo"])
    write_plugin(tmp_path, "late", timeout=-1)
    done = lonely("check", "--json")
    found = json.loads(done.out)
    assert done.code == 1
    assert (found["ok"], found["config"], found["plugins"], found["journal"]) == (
        False,
        "hermes.yaml",
        ["echo"],
        None,
    )
    (problem,) = found["problems"]
    assert (problem["file"], problem["line"], problem["key"]) == ("plugins/late/manifest.json", 1, "timeout")
    (warning,) = found["warnings"]
    assert warning["key"] == "plugins.echoo"


def test_a_check_leaves_nothing_behind(lonely: Hermes, tmp_path: Path) -> None:
    furnish(tmp_path, plugins=[SAMPLES / "echo"])
    before = files_below(tmp_path)
    assert lonely("check").code == 0
    assert files_below(tmp_path) == before
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("how", ["while it runs", "after it stopped", "after it was killed"])
def test_the_journal_of_a_daemon_is_read_and_not_touched(
    lonely: Hermes, start_daemon: StartDaemon, tmp_path: Path, how: str
) -> None:
    daemon = start_daemon(plugins=["lab"])
    daemon.send(intent="lab.give", payload={"what": "none"})
    if how == "after it stopped":
        daemon.stop()
    elif how == "after it was killed":
        daemon.kill()
    before = {path for path in daemon.state_dir.iterdir() if path.is_file()}
    data = (daemon.state_dir / "journal.db").read_bytes()
    done = lonely("check")
    assert (done.code, done.lines) == (
        0,
        ["ok: hermes.yaml; plugins: lab; journal: state/journal.db"],
    )
    assert {path for path in daemon.state_dir.iterdir() if path.is_file()} == before
    assert (daemon.state_dir / "journal.db").read_bytes() == data


def test_a_damaged_journal_is_a_problem_that_names_the_file(
    lonely: Hermes, start_daemon: StartDaemon, tmp_path: Path
) -> None:
    daemon = start_daemon(plugins=["lab"])
    for _ in range(20):
        daemon.send(intent="lab.give", payload={"what": "text"})
    daemon.stop()
    file = daemon.state_dir / "journal.db"
    content = bytearray(file.read_bytes())
    content[5000:9000] = bytes(4000)
    file.write_bytes(content)
    done = lonely("check")
    assert done.code == 1
    assert done.lines
    assert all(line.startswith("state/journal.db: the journal ") for line in done.lines)


def test_a_file_that_is_no_journal_is_a_problem(lonely: Hermes, tmp_path: Path) -> None:
    furnish(tmp_path)
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "journal.db").write_text("这不是数据库 " * 500)
    done = lonely("check")
    assert done.code == 1
    (line,) = done.lines
    assert line.startswith(
        "state/journal.db: the journal cannot be read: file is not a database; stop the daemon"
    )
