"""What plugin code raises outside of a handler, or does to the process that it shares: logged, and no call is lost."""

from __future__ import annotations

import pytest

from tests.support.bench import Bench, eventually
from tests.support.survival import Case, handling, survive, survived

FAIL = 'def fail(): raise LookupError("背景失败")\n'
BEHIND: dict[str, Case] = {
    "in-a-task": (
        handling(
            "async def fail(): raise LookupError('背景失败')\nasyncio.create_task(fail())\nreturn 'told'"
        ),
        "'told'",
    ),
    "in-a-callback": (handling(FAIL + "asyncio.get_running_loop().call_soon(fail)\nreturn 'told'"), "'told'"),
    "in-a-thread": (handling(FAIL + "threading.Thread(target=fail).start()\nreturn 'told'"), "'told'"),
    "in-a-done-callback": (
        handling(FAIL + "asyncio.current_task().add_done_callback(lambda _: fail())\nreturn 'told'"),
        "'told'",
    ),
    "in-a-destructor": (
        handling("class Odd:\n    def __del__(self): raise LookupError('背景失败')\nOdd()\nreturn 'told'"),
        "'told'",
    ),
}


async def test_what_is_raised_behind_a_handler_is_logged_and_its_worker_goes_on(bench: Bench) -> None:
    await survive(bench, BEHIND)
    await eventually(lambda: all("背景失败" in logged(bench, name) for name in BEHIND))
    assert bench.book.lines(event="worker_exited") == []


def logged(bench: Bench, plugin: str) -> str:
    return "\n".join(line["text"] for line in bench.book.lines(event="plugin_log", plugin=plugin))


EXITS: dict[str, Case] = {
    "exit": (handling("sys.exit('没有许可证')"), "Raised: SystemExit: 没有许可证"),
    "interrupt": (handling("raise KeyboardInterrupt"), "Raised: KeyboardInterrupt"),
    "exit-in-a-task": (
        handling(
            "async def leave(): sys.exit('没有许可证')\nasyncio.create_task(leave()); await asyncio.sleep(600)"
        ),
        "Crashed: the worker ended with exit code 1: 没有许可证",
    ),
    "exit-in-a-callback": (
        handling("asyncio.get_running_loop().call_soon(sys.exit, 5); await asyncio.sleep(600)"),
        "Crashed: the worker ended with exit code 5",
    ),
    "exit-in-a-thread": (
        handling("threading.Thread(target=sys.exit).start()\nreturn 'told'"),
        "'told'",
    ),
    "cancels-itself": (
        handling("asyncio.current_task().cancel(); await asyncio.sleep(600)"),
        "Raised: the handler was cancelled",
    ),
    "cancels-everyone": (
        handling("for task in asyncio.all_tasks(): task.cancel()\nawait asyncio.sleep(600)"),
        "Raised: the handler was cancelled",
    ),
    "a-text-that-exits": (
        handling("class Odd(BaseException):\n    def __str__(self): sys.exit(3)\nraise Odd"),
        "Raised: Odd",
    ),
}


async def test_asking_to_exit_ends_the_call_or_at_most_the_worker(bench: Bench) -> None:
    await survive(bench, EXITS)


SPOILS = {
    "standard-streams-closed": "sys.stdout.close(); sys.stderr.close(); sys.stdin.close()",
    "standard-streams-gone": "sys.stdout = sys.stderr = None; print('x')",
    "standard-descriptors-closed": "os.close(0); os.close(1); os.close(2); print('x', flush=True)",
    "modules-gone": "sys.path.clear(); sys.modules.clear(); os.chdir('/')",
    "loop-forgotten": "asyncio.set_event_loop(None); asyncio.set_event_loop_policy(None)",
    "own-copy-removed": "import shutil; shutil.rmtree(os.getcwd())",
    "data-removed": "import shutil; shutil.rmtree(context['data_dir'])",
    "no-more-files": "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))",
    "signals-ignored": "signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGINT, signal.SIG_IGN)",
    "handlers-of-the-log-gone": "import logging; logging.getLogger().handlers.clear(); context['log'].error('x')",
}


async def test_a_worker_answers_on_whatever_its_plugin_does_to_what_they_share(bench: Bench) -> None:
    cases: dict[str, Case] = {
        name: (handling(f"{spoil}\nreturn 'told'"), "'told'") for name, spoil in SPOILS.items()
    }
    await survive(bench, cases)
    assert bench.book.lines(event="worker_exited") == []


@pytest.mark.parametrize("full", ["/dev/full", "a file that may not grow"])
async def test_a_disk_that_is_full_fails_the_call_that_writes_to_it(bench: Bench, full: str) -> None:
    harm = """
if how != "/dev/full":
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
    how = context["data_dir"] + "/notes"
with open(how, "w") as file:
    file.write("满了" * 10)
"""
    async with survived(bench, {"p": handling(harm)}) as survivors:
        ends = await survivors.harm("p", how=full)
    expected = "No space left on device" if full == "/dev/full" else "File too large"
    assert expected in ends["p"]
