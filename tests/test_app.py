"""Places where Hermes cannot start are refused in one line that says what to do; lesser troubles are told and borne."""

from __future__ import annotations

import resource
import shlex
import socket
from pathlib import Path

import pytest

from tests.conftest import StartDaemon
from tests.support.client import Client
from tests.support.daemon import furnish, refusal
from tests.support.waiting import until


def test_an_occupied_port_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        furnish(tmp_path, {"hermes": {"bind": f"127.0.0.1:{port}"}})
        line = refusal(tmp_path)
    assert line.startswith(f"Error: cannot listen on 127.0.0.1:{port}: Address already in use")
    assert "hermes.bind" in line


@pytest.mark.parametrize("state_dir", ["in-the-way", "in-the-way/below"])
def test_a_state_folder_that_cannot_be_used_is_named(tmp_path: Path, state_dir: str) -> None:
    (tmp_path / "in-the-way").write_text("a file")
    furnish(tmp_path, {"hermes": {"state_dir": state_dir}})
    line = refusal(tmp_path)
    assert f"the state folder {tmp_path / state_dir} cannot be used" in line
    assert "hermes.state_dir" in line
    assert (tmp_path / "in-the-way").read_text() == "a file"


def test_a_journal_that_is_none_is_named_and_left_as_it_is(tmp_path: Path) -> None:
    furnish(tmp_path)
    (tmp_path / "state").mkdir()
    journal = tmp_path / "state" / "journal.db"
    journal.write_text("not a database, but somebody's file " * 100)
    before = journal.read_bytes()
    assert f"the journal {journal} cannot be opened" in refusal(tmp_path)
    assert journal.read_bytes() == before


def test_two_daemons_do_not_share_a_state_folder(start_daemon: StartDaemon, tmp_path: Path) -> None:
    start_daemon()
    other = tmp_path / "other"
    other.mkdir()
    furnish(other, {"hermes": {"state_dir": str(tmp_path / "state")}})
    assert f"another Hermes uses {tmp_path / 'state'}" in refusal(other)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hermes:\n  bind: 127.0.0.1:0\n  colour: red\n", "hermes.yaml:3: hermes.colour: is not a known key"),
        ("hermes:\n  bind: nowhere\n", "hermes.yaml:2: hermes.bind: must be host:port"),
        ("hermes: [\n", "hermes.yaml:"),
        ("webhooks: {}\n", "hermes.yaml:1: webhooks: is not available in this version"),
        ("hermes:\n  plugins_dir: ${HERMES_TEST_NOT_SET}\n", "HERMES_TEST_NOT_SET"),
    ],
)
def test_a_wrong_configuration_is_refused_with_file_line_and_key(
    tmp_path: Path, text: str, words: str
) -> None:
    (tmp_path / "hermes.yaml").write_text(text)
    assert words in refusal(tmp_path)


def test_a_configuration_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert str(tmp_path / "hermes.yaml") in refusal(tmp_path)


def test_without_its_plugins_folder_hermes_runs_and_says_what_is_missing(start_daemon: StartDaemon) -> None:
    daemon = start_daemon({"hermes": {"plugins_dir": "./nowhere"}})
    (warning,) = daemon.lines(event="plugins_dir_missing", level="warning")
    assert warning["plugins_dir"] == str(daemon.home / "nowhere")
    assert daemon.get("/v1/plugins").json == {"items": [], "next": None}
    assert daemon.get("/readyz").json == {"status": "degraded", "reasons": ["the plugins folder is missing"]}
    assert daemon.send("系统状态")["envelope"]["error"]["code"] == "no_match"


def test_the_greeting_can_be_pasted(start_daemon: StartDaemon) -> None:
    daemon = start_daemon(plugins=[])
    (line,) = [line for line in daemon.stderr.splitlines() if "curl" in line]
    command = shlex.split(line)
    (address,) = [word for word in command if word.startswith("http")]
    body = command[command.index("-d") + 1].encode()
    path = address.removeprefix(daemon.url)
    answer = daemon.request("POST", path, body=body, headers={"content-type": "application/json"})
    assert answer.status == 200


def test_what_cannot_be_kept_is_not_accepted_and_what_was_accepted_ends_once_it_can(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    """The disk is full for a while: a limit on the size of files does the same."""
    gate = tmp_path / "gate"
    daemon = start_daemon(plugins=["gate"])
    done = daemon.send(intent="gate.read")
    running = daemon.accept(intent="gate.read", payload={"gate": str(gate), "name": "等磁盘"})
    until(lambda: daemon.runs(running))
    full = (daemon.state_dir / "journal.db-wal").stat().st_size
    _, hard = resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, (full, hard))

    refused = daemon.post("/v1/messages", {"intent": "gate.read", "request_id": "refused"})
    assert refused.problem == (503, "unavailable")
    assert int(refused.headers["retry-after"]) > 0
    ready = daemon.get("/readyz")
    assert (ready.status, ready.json["status"]) == (503, "unavailable")
    assert daemon.get("/healthz").status == 200
    assert daemon.record(done["request_id"]) == done
    gate.touch()
    daemon.line(event="not_written", request_id=running)
    assert daemon.record(running)["status"] == "running"

    resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, (hard, hard))
    frames = daemon.story(running)
    assert [frame.event for frame in frames].count("TOOL_SUCCEEDED") == 1
    assert frames[-1].data["envelope"]["data"] == {"passed": "等磁盘"}
    assert daemon.send(intent="gate.read", request_id="refused")["status"] == "succeeded"
    assert daemon.get("/readyz").status == 200
    assert daemon.runs("refused") == daemon.runs(running) == 1


def test_too_many_waiting_messages_are_turned_away_for_a_while(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    daemon = start_daemon({"limits": {"pending": 3}}, plugins=["gate"])
    body = {"intent": "gate.read", "payload": {"gate": str(gate)}, "request_id": "first"}
    daemon.post("/v1/messages", body)
    accepted = ["first", *(daemon.accept(intent="gate.read", payload={"gate": str(gate)}) for _ in range(2))]
    refused = daemon.post("/v1/messages", {"intent": "gate.read"})
    assert refused.problem == (429, "rate_limited")
    assert int(refused.headers["retry-after"]) > 0
    assert daemon.post("/v1/messages", body).headers["idempotent-replayed"] == "true"
    gate.touch()
    assert [daemon.story(one)[-1].event for one in accepted] == ["TOOL_SUCCEEDED"] * 3
    assert Client(daemon.url).send(intent="gate.read")["status"] == "succeeded"
