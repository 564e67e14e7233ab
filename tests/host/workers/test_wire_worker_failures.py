"""What a worker writes or closes against all rules costs at most the call it belongs to, and no call its time-out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes.host.workers.failures import Crashed, Raised
from tests.support.bench import Bench, alive, eventually, file_text
from tests.support.employer import Employer


@pytest.fixture
async def employer(tmp_path: Path) -> AsyncIterator[Employer]:
    employer = Employer(tmp_path)
    yield employer
    await employer.dismiss()


DEEP = "'[' * 1000 + ']' * 1000"


@pytest.mark.parametrize("odd", [DEEP, "'[1]'", "'{}'", "'1.5'", "'true'", "'18446744073709551616'"])
async def test_a_request_with_an_odd_id_is_logged_and_what_follows_it_at_once_is_read(
    employer: Employer, odd: str
) -> None:
    worker = await employer.hire(f"""
frame = hear()
sys.stdout.write('{{"id":' + {odd} + ',"method":"send"}}\\n')
say(id=frame["id"], result="read")
hear()
""")
    assert await worker.request("any", {}) == "read"
    text = "a request whose id is neither a text nor a whole number was dropped"
    assert employer.lines == [("warning", text, None)]


FRAMES = [
    "'{\"id\":1,\"method\":' + deep + '}'",
    "'{\"method\":' + deep + ',\"params\":{}}'",
    '\'{"method":"log","params":{"text":"x","level":\' + deep + \'}}\'',
    '\'{"method":"log","params":{"text":\' + deep + \'}}\'',
    '\'{"method":"progress","params":{"call":\' + deep + \'}}\'',
    '\'{"method":"progress","params":{"call":"c1","text":\' + deep + \',"percent":\' + deep + \'}}\'',
    "'{\"id\":' + deep + ',\"result\":1}'",
    '\'{"id":true,"result":1}\'',
    '\'{"id":1.0,"result":1}\'',
]


@pytest.mark.parametrize("frame", FRAMES)
async def test_members_that_are_no_words_do_no_harm(employer: Employer, frame: str) -> None:
    worker = await employer.hire(f"""
asked = hear()
deep = {DEEP}
sys.stdout.write({frame} + "\\n")
say(id=asked["id"], result="read")
hear()
""")
    pending, _ = employer.call(worker)
    assert await pending.answer == "read"


async def test_an_error_whose_message_is_no_text_ends_its_call_all_the_same(employer: Employer) -> None:
    worker = await employer.hire(f"""
asked = hear()
deep = {DEEP}
sys.stdout.write('{{"id":%d,"error":{{"code":%s,"message":%s}}}}\\n' % (asked["id"], deep, deep))
sys.stdout.flush()
hear()
""")
    with pytest.raises(Raised, match="an error without a message"):
        await worker.request("any", {})


async def test_a_line_that_its_taker_fails_at_is_reported_and_the_next_one_is_taken(
    employer: Employer,
) -> None:
    worker = await employer.hire("""
frame = hear()
sys.stdout.write('{"method":"progress","params":{"call":"c1","text":"x"}}\\n')
say(id=frame["id"], result="read")
hear()
""")

    def fail(_text: str, _percent: float | None) -> None:
        raise LookupError("a bug of ours")

    reported: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _loop, context: reported.append(context.get("exception")))
    worker.busy += 1
    pending = worker.call(employer.caller("c1", on_progress=fail), {})
    assert await pending.answer == "read"
    assert [repr(error) for error in reported] == ["LookupError('a bug of ours')"]


async def test_the_percentage_of_progress_is_a_number_and_no_truth_value(employer: Employer) -> None:
    worker = await employer.hire("""
frame = hear()
for percent in (True, False, 0, 99.5, "50", None, [1], 10 ** 30):
    say(method="progress", params={"call": "c1", "text": "x", "percent": percent})
sys.stdout.write('{"method":"progress","params":{"call":"c1","text":"x","percent":NaN}}\\n')
say(id=frame["id"], result=None)
hear()
""")
    pending, told = employer.call(worker)
    await pending.answer
    assert [repr(percent) for _, percent in told] == [
        "None",
        "None",
        "0",
        "99.5",
        "None",
        "None",
        "None",
        "1e+30",
    ]


@pytest.mark.parametrize("number", ["2 ** 64", "-2 ** 63 - 1", "10 ** 400"])
async def test_a_result_with_an_integer_beyond_64_bits_is_refused_and_not_rounded(
    employer: Employer, number: str
) -> None:
    worker = await employer.hire(f"""
frame = hear()
say(id=frame["id"], result={{"text": "大", "n": [{number}]}})
frame = hear()
say(id=frame["id"], result=[2 ** 64 - 1, -2 ** 63, "18446744073709551616"])
hear()
""")
    with pytest.raises(Raised, match="the result holds an integer beyond 64 bits"):
        await worker.request("any", {})
    assert await worker.request("any", {}) == [2**64 - 1, -(2**63), "18446744073709551616"]


async def test_such_an_integer_is_refused_wherever_the_answer_has_its_id(employer: Employer) -> None:
    worker = await employer.hire("""
frame = hear()
say(result=2 ** 64, id=frame["id"], error=None)
hear()
""")
    with pytest.raises(Raised, match="beyond 64 bits"):
        await worker.request("any", {})


async def test_a_worker_that_closes_its_stdout_and_lives_on_is_ended_with_its_group(
    employer: Employer,
) -> None:
    worker = await employer.hire("""
hear()
child = subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL)
open("child", "w").write(str(child.pid))
sys.stderr.write("no way to answer")
sys.stderr.flush()
os.close(1)
time.sleep(600)
""")
    pending, _ = employer.call(worker)
    with pytest.raises(Crashed) as crash:
        await pending.answer
    assert employer.exits == [crash.value.reason]
    assert crash.value.reason == "the worker closed its stdout and was killed: no way to answer"
    assert not alive(worker.pid)
    child = int(await file_text(employer.folder / "child"))
    await eventually(lambda: not alive(child))


async def test_a_worker_without_stdout_gets_no_more_calls(employer: Employer) -> None:
    worker = await employer.hire("hear(); os.close(1); time.sleep(600)")
    worker.request("any", {}).add_done_callback(lambda answer: answer.exception())
    await eventually(lambda: worker.paused == 1)
    assert worker.paused == 1


async def test_a_worker_that_leaves_after_it_closed_its_stdout_ends_by_itself(employer: Employer) -> None:
    worker = await employer.hire("hear(); os.close(1); time.sleep(0.05); os._exit(7)")
    with pytest.raises(Crashed, match="the worker ended with exit code 7"):
        await worker.request("any", {})
    assert not worker.killed


async def test_a_plugin_that_closes_the_wire_ends_its_calls_and_is_started_anew(bench: Bench) -> None:
    pid = await bench.begin_plugin("""
import asyncio, os

async def handle(message, context):
    if message["payload"]:
        os.close(context["progress"]._wire._write_fd)
        await asyncio.sleep(600)
    return os.getpid()
""")
    calls = [bench.run("p", {"close": True}), bench.run("p", {"close": True})]
    ended = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(end) for end in ended] == [Crashed, Crashed]
    assert await bench.run("p") == await bench.worker("p", other_than=pid)
