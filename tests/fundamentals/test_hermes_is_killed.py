"""When Hermes is killed its plugins' processes go with it, whatever they are doing; what they had started goes at the next start."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import StartDaemon
from tests.support.daemon import Daemon, left_behind, write_plugin
from tests.support.strays import strays
from tests.support.survival import Plugin, handling, printing, speaking
from tests.support.waiting import until

BEGAN = 'open("began", "w").close()\n'
CALM: dict[str, Plugin] = {
    "idle": handling("pass"),
    "sleeps": handling(BEGAN + "await asyncio.sleep(600)"),
    "loops": handling(BEGAN + "while True: pass"),
    "blocks": handling(BEGAN + "time.sleep(600)"),
    "is-stuck-in-c": handling(BEGAN + "ctypes.PyDLL(None).sleep(600)"),
    "is-stuck-in-c-without-the-lock": handling(BEGAN + "ctypes.CDLL(None).sleep(600)"),
    "has-stopped": handling(BEGAN + "os.kill(os.getpid(), signal.SIGSTOP)"),
    "heeds-no-signal": handling(
        "for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(one, signal.SIG_IGN)\n"
        + BEGAN
        + "while True: time.sleep(600)"
    ),
    "speaks": speaking(BEGAN + "while True: time.sleep(600)"),
    "prints": printing(BEGAN + "while True: time.sleep(600)"),
}
CROWDED: dict[str, Plugin] = {
    "has-children": handling('subprocess.Popen(["sleep", "600"])\n' + BEGAN + "await asyncio.sleep(600)"),
    "has-children-apart": handling(
        'subprocess.Popen(["sh", "-c", "sleep 600 & sleep 600"], start_new_session=True)\n'
        + BEGAN
        + "time.sleep(600)"
    ),
    "speaks": speaking(
        'subprocess.Popen(["sleep", "600"], start_new_session=True)\n' + BEGAN + "time.sleep(600)"
    ),
    "prints": printing('subprocess.Popen(["sleep", "600"])\n' + BEGAN + "time.sleep(600)"),
}


def at_work(start_daemon: StartDaemon, home: Path, plugins: dict[str, Plugin]) -> Daemon:
    """Start a daemon whose plugins are all in the middle of it."""
    for name, plugin in plugins.items():
        write_plugin(home, name, timeout=600, **plugin)
    daemon = start_daemon()
    for name in plugins.keys() - {"idle"}:
        daemon.accept(intent=name, payload={"harm": True})
    staged = daemon.state_dir / "staged"
    until(lambda: {one.parent.parent.name for one in staged.glob("*/*/began")} == plugins.keys() - {"idle"})
    until(lambda: all(daemon.plugin(name)["workers"] for name in plugins))
    return daemon


def test_no_worker_outlives_it_whatever_that_is_doing(start_daemon: StartDaemon, tmp_path: Path) -> None:
    daemon = at_work(start_daemon, tmp_path, CALM)
    assert len(left_behind(tmp_path)) > len(CALM)
    daemon.process.kill()
    daemon.process.wait()
    until(lambda: not left_behind(tmp_path))


def test_what_workers_had_started_is_ended_at_the_next_start(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    daemon = at_work(start_daemon, tmp_path, CROWDED)
    workers = {one["pid"] for name in CROWDED for one in daemon.plugin(name)["workers"]}
    daemon.process.kill()
    daemon.process.wait()
    until(lambda: not workers & {one.pid for one in left_behind(tmp_path)})
    old = left_behind(tmp_path)
    for folder in (tmp_path / "plugins").iterdir():
        (folder / "plugin.py").write_text("async def handle(message, context):\n    return 'well'\n")
        (folder / "manifest.json").write_text(f'{{"name": "{folder.name}", "intents": ["{folder.name}"]}}')
    again = start_daemon()
    until(lambda: not {one.pid for one in old} & {one.pid for one in left_behind(tmp_path)})
    assert {again.send(intent=name)["envelope"]["data"] for name in CROWDED} == {"well"}
    until(lambda: not strays(again))
