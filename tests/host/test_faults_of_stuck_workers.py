"""Workers that do not come back from a call, in any way: it ends at its time-out, and the plugin is there again."""

from __future__ import annotations

import pytest

from tests.support.bench import Bench
from tests.support.survival import Case, Plugin, handling, printing, speaking, survive, survived

IN_TIME = r"TimedOut: no answer within 0\.5 s"
HALF = '{"jsonrpc":"2.0","id":'

STUCK: dict[str, Plugin] = {
    "loops": handling("while True: pass"),
    "loops-in-c-without-the-lock": handling("libc = ctypes.CDLL(None)\nwhile True: libc.usleep(1000)"),
    "blocks": handling("time.sleep(600)"),
    "blocks-with-the-lock": handling("ctypes.PyDLL(None).sleep(600)"),
    "blocks-on-a-lock": handling("lock = threading.Lock(); lock.acquire(); lock.acquire()"),
    "stops": handling("os.kill(os.getpid(), signal.SIGSTOP); await asyncio.sleep(600)"),
    "swallows-cancellation": handling("""
while True:
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.sleep(600)
"""),
    "leaves-half-a-frame": handling(f"os.write(wire._write_fd, {HALF!r}.encode()); await asyncio.sleep(600)"),
    "process-loops": speaking("while True: pass"),
    "process-stops": speaking("os.kill(os.getpid(), signal.SIGSTOP)"),
    "process-leaves-half-a-frame": speaking(
        f"sys.stdout.write({HALF!r}); sys.stdout.flush(); time.sleep(600)"
    ),
    "process-never-answers": speaking("pass"),
}
PROGRAMS: dict[str, Case] = {
    "loops": (printing("while True: pass"), IN_TIME),
    "heeds-no-signal": (
        printing("signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: pass"),
        IN_TIME,
    ),
    "stops": (printing("os.kill(os.getpid(), signal.SIGSTOP)"), IN_TIME),
    "closes-its-pipes": (printing("os.close(0); os.close(1); os.close(2); time.sleep(600)"), IN_TIME),
}


async def test_a_worker_that_is_stuck_in_any_way_is_killed_after_the_time_out_and_replaced(
    bench: Bench,
) -> None:
    await survive(bench, {name: (plugin, IN_TIME) for name, plugin in STUCK.items()}, seconds=0.5)
    restarts = {
        name: bench.metric("hermes_worker_restarts_total", plugin=name, reason="killed") for name in STUCK
    }
    assert restarts == dict.fromkeys(STUCK, 1)
    assert {line["plugin"] for line in bench.book.lines(event="worker_stuck")} == STUCK.keys()


async def test_a_program_that_is_stuck_in_any_way_is_ended_at_its_time_out(bench: Bench) -> None:
    await survive(bench, PROGRAMS, seconds=0.5)


async def test_a_program_that_loops_ends_at_its_limit_of_processor_time(bench: Bench) -> None:
    plugin = printing("while True: pass", limits={"cpu_seconds": 1})
    await survive(bench, {"p": (plugin, r"Crashed: the worker used more than limits\.cpu_seconds 1$")})


async def test_a_thread_that_never_ends_keeps_neither_its_call_nor_the_worker(bench: Bench) -> None:
    harm = """
def spin():
    while True:
        pass
threading.Thread(target=spin).start()
return "on its way"
"""
    await survive(bench, {"p": (handling(harm), "'on its way'")})
    assert bench.book.lines(event="worker_exited") == []


CLOSES = {
    "python": handling(
        'os.close(wire.read_fd if how == "stdin" else wire._write_fd); await asyncio.sleep(600)'
    ),
    "process": speaking("os.close(0 if how == 'stdin' else 1); time.sleep(600)"),
}


@pytest.mark.parametrize("end", ["stdin", "stdout"])
async def test_a_worker_that_closes_one_end_of_its_wire_is_replaced_before_any_time_out(
    bench: Bench, end: str
) -> None:
    async with survived(bench, CLOSES) as survivors:
        ends = await survivors.harm(*CLOSES, how=end)
    reason = f"Crashed: the worker closed its {end} and was killed"
    assert ends == dict.fromkeys(CLOSES, reason)


async def test_a_worker_that_has_closed_its_stdin_gets_no_call_that_it_cannot_hear(bench: Bench) -> None:
    cases: dict[str, Case] = {"p": (handling("os.close(wire.read_fd); return 'done'"), "'done'")}
    await survive(bench, cases)
    [line] = bench.book.lines(event="worker_exited")
    assert line["reason"] == "the worker closed its stdin and was killed"
