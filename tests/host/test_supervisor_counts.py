"""Which ends of a call the circuit breaker of its plugin counts, whatever the plugin is written in."""

from __future__ import annotations

import asyncio

from hermes.host.workers.failures import Raised, ResultTooLarge
from tests.support.bench import Bench
from tests.support.pauses import DOES, act, fail, failures
from tests.support.survival import Plugin, printing, speaking

UPSTREAM = {"code": "upstream_unavailable", "message": "502"}
PLUGINS: dict[str, Plugin] = {
    "p": DOES,
    "speaks": speaking("exec(how)"),
    "prints": printing("exec(how)"),
}

COUNTED = {
    "a crash": ("p", "os._exit(7)"),
    "an exception": ("p", "raise LookupError('没有')"),
    "an exception that asks to exit": ("p", "raise SystemExit(0)"),
    "a cancellation of its own": ("p", "raise asyncio.CancelledError"),
    "an upstream that is away": ("p", f"return {{'data': None, 'error': {UPSTREAM}}}"),
    "an upstream that another plugin missed": (
        "p",
        f"return {{'data': None, 'error': {UPSTREAM}, 'elapsed_ms': 1.5, 'warning': None}}",
    ),
    "a time-out": ("p", "await asyncio.sleep(600)"),
    "an error in another language": ("speaks", "say(id=asked, error={'code': -32603, 'message': 'boom'})"),
    "a crash in another language": ("speaks", "os.abort()"),
    "an exit code": ("prints", "sys.exit('坏了')"),
    "a signal": ("prints", "os.abort()"),
    "an upstream that a program misses": ("prints", f"print(json.dumps({{'error': {UPSTREAM}}}))"),
    "a time-out of a program": ("prints", "time.sleep(600)"),
}
ANSWERED = {
    "a value": ("p", "return 7"),
    "an error that is a text": ("p", "return {'error': '没有权限'}"),
    "an error with another code": ("p", "return {'error': {'code': 'not_found', 'message': 'x'}}"),
    "an upstream that refuses": ("p", "return {'error': {'code': 'upstream_denied', 'message': 'x'}}"),
    "data that speaks of an upstream": ("p", f"return {{'error': {UPSTREAM}, 'service': 'web'}}"),
    "not a number": ("p", "return float('nan')"),
    "a number that is too large": ("p", "return 2 ** 64"),
    "a result that is too large": ("p", "return 'x' * 2_000_000"),
    "a step that runs elsewhere": ("p", "raise StillRunning('r1')"),
    "a step that nobody knows of": ("p", "raise OutcomeUnknown('r1')"),
    "not a number in another language": (
        "speaks",
        'print(\'{"id": %d, "result": NaN}\' % asked, flush=True)',
    ),
    "not a number by a program": ("prints", "print('[NaN]')"),
}


async def test_what_counts_as_a_failure(bench: Bench) -> None:
    for name, plugin in PLUGINS.items():
        bench.write(name, **plugin)
    bench.start(failure_threshold=1000)
    counted = dict.fromkeys(PLUGINS, 0)
    for case, (name, what) in COUNTED.items():
        late = case.startswith("a time-out")
        if late:
            await bench.worker("p")
        await asyncio.gather(act(bench, what, name=name, timeout=0.2 if late else 20), return_exceptions=True)
        counted[name] += 1
        assert failures(bench, name) == counted[name], case


async def test_an_answer_is_no_failure_whatever_it_says_and_begins_the_count_anew(bench: Bench) -> None:
    for name, plugin in PLUGINS.items():
        bench.write(name, **plugin)
    bench.start(failure_threshold=3)
    for case, (name, what) in ANSWERED.items():
        await fail(bench, 2, name=name)
        assert failures(bench, name) == 2
        end = (await asyncio.gather(act(bench, what, name=name), return_exceptions=True))[0]
        assert not isinstance(end, BaseException) or isinstance(end, Raised | ResultTooLarge), case
        assert failures(bench, name) == 0, case
