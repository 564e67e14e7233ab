"""Worker processes that die, in any way, or use more than their share: it costs the call they ran, and nobody else's."""

from __future__ import annotations

from pathlib import Path

from tests.support.bench import Bench, alive, eventually, file_text
from tests.support.survival import Case, handling, printing, speaking, survive, survived

DEATHS: dict[str, Case] = {
    "exits": (handling("os._exit(3)"), "Crashed: the worker ended with exit code 3$"),
    "segfaults": (handling("ctypes.string_at(0)"), "Crashed: the worker ended with signal SIGSEGV"),
    "aborts": (handling("os.abort()"), "Crashed: the worker ended with signal SIGABRT"),
    "kills-its-group": (handling("os.killpg(0, signal.SIGKILL)"), "Crashed: .* signal SIGKILL"),
    "ends-itself": (
        handling("os.kill(os.getpid(), signal.SIGTERM); await asyncio.sleep(600)"),
        "Crashed: the worker ended with signal SIGTERM",
    ),
    "closes-all-descriptors": (
        handling("os.closerange(3, 256); await asyncio.sleep(600)"),
        r"Crashed: the worker ended with exit code 1: OSError: \[Errno 9\] Bad file descriptor",
    ),
    "stops-the-loop": (
        handling("asyncio.get_running_loop().stop(); await asyncio.sleep(600)"),
        "Crashed: the worker ended with exit code 0",
    ),
    "recurses-in-c": (
        handling("""
sys.setrecursionlimit(10 ** 9)
def again(number):
    return list(map(again, [number]))
again(1)
"""),
        "Crashed: the worker ended with signal SIGSEGV",
    ),
    "process-segfaults": (speaking("ctypes.string_at(0)"), "Crashed: .* signal SIGSEGV"),
    "program-segfaults": (printing("ctypes.string_at(0)"), "Crashed: .* signal SIGSEGV"),
    "program-kills-its-group": (printing("os.killpg(0, signal.SIGKILL)"), "Crashed: .* signal SIGKILL"),
}


async def test_however_a_worker_dies_it_costs_its_own_call_alone_and_another_takes_its_place(
    bench: Bench,
) -> None:
    await survive(bench, DEATHS)
    for name, (plugin, _) in DEATHS.items():
        restarts = bench.metric("hermes_worker_restarts_total", plugin=name, reason="crash")
        assert restarts == (plugin.get("runtime") != "executable"), name


SMALL = {"limits": {"memory_mb": 100}}
# Bounded, should the limit not hold: 1 GB, a little at a time so that it is seen.
HOARDS = "held = []\nfor _ in range(1000): held.append(bytearray(1 << 20)); time.sleep(0.004)"
OVER_MEMORY = r"Crashed: the worker used \d+ MB, more than limits\.memory_mb 100$"
HOARDERS: dict[str, Case] = {
    "python": (handling(HOARDS, **SMALL), "Raised: MemoryError"),
    "python-for-good": (handling("global held; " + HOARDS, **SMALL), "Raised: MemoryError"),
    "process": (speaking(HOARDS, **SMALL), OVER_MEMORY),
    "program": (printing(HOARDS, **SMALL), OVER_MEMORY),
}


async def test_a_memory_bomb_ends_at_the_limit_of_its_plugin(bench: Bench) -> None:
    await survive(bench, HOARDERS)


async def test_recursion_without_a_limit_of_its_own_ends_at_that_of_the_memory(bench: Bench) -> None:
    madness = handling(
        """
sys.setrecursionlimit(10 ** 9)
def deeper(number):
    return deeper(number + 1)
deeper(1)
""",
        limits={"memory_mb": 60},
    )
    # Telling where such an error came from may take too long: then the call ends by its time-out.
    await survive(bench, {"madness": (madness, "Raised|TimedOut|Crashed")}, seconds=1)


FEW = {"limits": {"processes": 10}}
BREEDS = 'for _ in range(40): subprocess.Popen(["sleep", "600"])\n'
BREEDS_DEEPLY = """
for _ in range(5):  # doubles each time
    with contextlib.suppress(OSError):
        os.fork()
time.sleep(600)
"""
OVER_PROCESSES = r"Crashed: the worker ran \d+ processes, more than limits\.processes 10$"
BREEDERS: dict[str, Case] = {
    "python": (handling(BREEDS + "await asyncio.sleep(600)", **FEW), OVER_PROCESSES),
    "process": (speaking(BREEDS + "time.sleep(600)", **FEW), OVER_PROCESSES),
    "program": (printing(BREEDS_DEEPLY, **FEW), OVER_PROCESSES),
}


async def test_a_process_bomb_is_ended_with_all_that_it_started(bench: Bench) -> None:
    await survive(bench, BREEDERS)


async def test_open_files_end_at_the_limit_and_the_worker_goes_on_with_those_it_holds(bench: Bench) -> None:
    harm = 'global held; held = []\nwhile True: held.append(open("/dev/null"))'
    cases: dict[str, Case] = {
        "opens": (
            handling(harm, limits={"open_files": 64}),
            r"Raised: OSError: \[Errno 24\] Too many open files",
        )
    }
    await survive(bench, cases)
    assert bench.book.lines(event="worker_exited") == []


LEAVES = 'subprocess.Popen(["sleep", "600"]); os._exit(1)'
HELD: dict[str, Case] = {
    "by-a-child": (handling(LEAVES), "Crashed: the worker ended with exit code 1"),
    "by-a-fork": (
        handling("if os.fork(): os._exit(1)\ntime.sleep(600)"),
        "Crashed: the worker ended with exit code 1",
    ),
    "by-a-child-of-a-process": (speaking(LEAVES), "Crashed: the worker ended with exit code 1"),
    "by-a-child-of-a-program": (printing(LEAVES), "Raised: exit code 1"),
    "by-a-child-of-a-program-that-is-done": (
        printing('subprocess.Popen(["sleep", "600"]); print("done")'),
        "'done'",
    ),
}


async def test_pipes_that_grandchildren_hold_keep_nobody_waiting_and_the_grandchildren_are_ended(
    bench: Bench,
) -> None:
    await survive(bench, HELD)


async def test_a_forked_child_that_comes_back_from_the_handler_takes_no_calls_and_leaves(
    bench: Bench, tmp_path: Path
) -> None:
    harm = f"""
child = os.fork()
if child:
    open({str(tmp_path / "child")!r}, "w").write(str(child))
return "parent" if child else "child"
"""
    async with survived(bench, {"p": handling(harm)}) as survivors:
        pid = await bench.worker("p")
        ends = [await survivors.harm("p"), await survivors.harm("p")]
        child = int(await file_text(tmp_path / "child"))
        for _ in range(20):
            assert await bench.run("p") == "well"
        await eventually(lambda: not alive(child))
    assert ends == [{"p": "'parent'"}] * 2
    assert await bench.worker("p") == pid


async def test_a_pool_of_forked_processes_works_and_what_they_print_is_logged(bench: Bench) -> None:
    harm = """
with ProcessPoolExecutor(2) as pool:
    return list(pool.map(tell, range(4)))
"""
    plugin = handling(harm)
    plugin["code"] += "\ndef tell(number):\n    print('第', number)\n    return number\n"
    await survive(bench, {"p": (plugin, r"\[0, 1, 2, 3\]")})
    await eventually(lambda: len(bench.book.lines(event="plugin_log")) == 4)
    told = {line["text"] for line in bench.book.lines(event="plugin_log")}
    assert told == {f"第 {number}" for number in range(4)}
