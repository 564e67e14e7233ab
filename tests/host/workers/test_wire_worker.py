from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes.host.workers.failures import Crashed, Raised, ResultTooLarge
from hermes.host.workers.wire_worker import Launch, WireWorker
from tests.support.bench import alive, eventually, file_text
from tests.support.employer import Employer

ECHO = """
while frame := hear():
    say(id=frame["id"], result=frame["params"])
"""


@pytest.fixture
async def employer(tmp_path: Path) -> AsyncIterator[Employer]:
    employer = Employer(tmp_path)
    yield employer
    await employer.dismiss()


async def test_answers_find_the_requests_that_they_belong_to(employer: Employer) -> None:
    worker = await employer.hire("""
asked = [hear() for _ in range(3)]
for frame in reversed(asked):
    say(id=frame["id"], result=frame["params"]["text"])
hear()
""")
    answers = [worker.request("any", {"text": text}) for text in ("一", "二", "🚀")]
    assert await asyncio.gather(*answers) == ["一", "二", "🚀"]
    assert employer.exits == []


async def test_a_worker_runs_in_its_folder_and_sees_the_environment_that_it_is_given(
    employer: Employer,
) -> None:
    worker = await employer.hire(
        "say(id=hear()['id'], result=[os.getcwd(), dict(os.environ)]); hear()", environment={"ONLY": "这个"}
    )
    folder, environment = await worker.request("any", {})
    assert folder == str(employer.folder)
    environment.pop("LC_CTYPE", None)  # Python itself sets it where no locale is given
    assert environment == {"ONLY": "这个"}


async def test_a_command_that_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await WireWorker.start(Launch((str(tmp_path / "not-there"),), {}, tmp_path, 1024), Employer(tmp_path))


async def test_progress_of_a_call_comes_in_order_and_that_of_no_call_is_ignored(employer: Employer) -> None:
    worker = await employer.hire("""
frame = hear()
say(method="progress", params={"call": "c1", "text": "开始"})
say(method="progress", params={"call": "c2", "text": "of another"})
say(method="progress", params={"text": "of none"})
say(method="progress", params=["no object"])
say(method="progress", params={"call": "c1", "text": "half", "percent": 50})
say(method="progress", params={"call": "c1", "text": 3, "percent": "many"})
say(method="later invention", params={})
say(id=frame["id"], result="done")
say(method="progress", params={"call": "c1", "text": "too late"})
say(id=hear()["id"], result=None)
""")
    pending, told = employer.call(worker)
    assert await pending.answer == "done"
    await worker.request("ping", None)
    assert told == [("开始", None), ("half", 50), ("3", None)]


async def test_a_call_that_has_left_gives_its_place_back_even_if_nobody_waits_for_it(
    employer: Employer,
) -> None:
    worker = await employer.hire(ECHO)
    first, _ = employer.call(worker, "c1")
    second, _ = employer.call(worker, "c2")
    first.answer.cancel()
    await second.answer
    await first.left.wait()
    assert (worker.busy, employer.idle) == (0, 2)


async def test_cancel_names_the_call(employer: Employer) -> None:
    worker = await employer.hire("""
frame, cancel = hear(), hear()
say(id=frame["id"], error={"code": -32800, "message": repr((cancel["method"], cancel["params"], "id" in cancel))})
hear()
""")
    pending, _ = employer.call(worker, "c9")
    worker.cancel("c9")
    with pytest.raises(Raised, match="the handler was cancelled"):
        await pending.answer


@pytest.mark.parametrize(
    ("error", "reason", "where"),
    [
        ({"code": -32000, "message": "ValueError: 不行"}, "ValueError: 不行", None),
        ({"code": 1, "message": "x" * 5000}, "x" * 1000, None),
        (
            {"code": 1, "message": "m", "data": {"file": "plugin.py", "line": 3}},
            "m",
            {"file": "plugin.py", "line": 3},
        ),
        ({"code": 1, "message": "m", "data": "text"}, "m", None),
        ({}, "the worker gave an error without a message", None),
        ("text", "the worker gave an error without a message", None),
    ],
)
async def test_an_error_answer_fails_the_request_with_its_reason(
    employer: Employer, error: object, reason: str, where: object
) -> None:
    worker = await employer.hire(f"say(id=hear()['id'], error={error!r}); hear()")
    with pytest.raises(Raised) as failed:
        await worker.request("handle", {})
    assert (failed.value.reason, failed.value.where) == (reason, where)


async def test_what_is_no_frame_is_logged_and_harmless(employer: Employer) -> None:
    worker = await employer.hire("""
frame = hear()
sys.stdout.buffer.write("不是 JSON\\n\\n[1]\\n7\\n\\xff\\xfe\\n{\\"id\\": 99, \\"result\\": 1}\\n{\\"id\\": null}\\n".encode("latin-1", "replace"))
sys.stdout.buffer.write(b"{}\\n" + b"x" * 1000 + b"\\n")
say(id=frame["id"], result="still here")
hear()
""")
    assert await worker.request("any", {}) == "still here"
    assert [level for level, _, _ in employer.lines] == ["warning"] * 3
    assert employer.lines[-1] == ("warning", "not a frame: " + "x" * 200, None)


async def test_a_request_for_no_call_that_runs_is_refused(employer: Employer) -> None:
    worker = await employer.hire("""
frame = hear()
say(id="w1", method="once.begin", params={"call": "c1", "key": "k"})
say(id=7, method="send", params={})
say(id=frame["id"], result=[hear(), hear()])
hear()
""")
    answers = await worker.request("any", {})
    assert [(answer["id"], answer["error"]["code"]) for answer in answers] == [("w1", -32602), (7, -32601)]


async def test_an_answer_over_the_limit_fails_its_own_call_alone(employer: Employer) -> None:
    worker = await employer.hire(
        """
large, small = hear(), hear()
say(id=large["id"], result="x" * 100_000)
say(result="x" * 100_000, id=large["id"] + 2)
say(method="log", params={"id": small["id"], "text": "x" * 100_000})
say(id=small["id"], result="small")
hear()
""",
        frame_bytes=10_000,
    )
    large, _ = employer.call(worker, "c1")
    small, _ = employer.call(worker, "c2")
    id_last, _ = employer.call(worker, "c3")
    for call in (large, id_last):
        with pytest.raises(ResultTooLarge):
            await call.answer
    assert await small.answer == "small"
    assert worker.busy == 0
    assert employer.lines == [("warning", "a frame over the limit was dropped", None)]


async def test_lines_of_stderr_are_logged_and_the_last_one_tells_why_the_worker_ended(
    employer: Employer,
) -> None:
    worker = await employer.hire("""
hear()
sys.stderr.write("第一行\\n  \\n" + "y" * 9000 + "\\nfatal: 磁盘已满")
sys.stderr.flush()
os._exit(3)
""")
    pending, _ = employer.call(worker)
    with pytest.raises(Crashed, match="the worker ended with exit code 3: fatal: 磁盘已满") as crash:
        await pending.answer
    assert employer.exits == [crash.value.reason]
    assert [text for _, text, _ in employer.lines] == [
        "第一行",
        "(a line that is too long)",
        "fatal: 磁盘已满",
    ]


async def test_a_signal_that_ended_the_worker_is_named(employer: Employer) -> None:
    worker = await employer.hire("hear(); os.kill(os.getpid(), 9)")
    with pytest.raises(Crashed, match="the worker ended with signal SIGKILL"):
        await worker.request("any", {})


async def test_after_its_end_a_worker_fails_every_request_at_once(employer: Employer) -> None:
    worker = await employer.hire("hear()")
    worker.close()
    await worker.exited.wait()
    assert employer.exits == ["the worker ended with exit code 0"]
    with pytest.raises(Crashed):
        await worker.request("any", {})
    pending, _ = employer.call(worker)
    with pytest.raises(Crashed):
        await pending.answer
    assert pending.left.is_set()
    worker.cancel("c1")
    worker.kill()
    worker.close()
    assert worker.processes()[0].rss_bytes is None


async def test_the_memory_of_a_worker_can_be_read(employer: Employer) -> None:
    worker = await employer.hire(ECHO)
    await worker.request("any", {})
    assert 1 << 20 < (worker.processes()[0].rss_bytes or 0) < 1 << 30


LEAVES_A_CHILD = """
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session={apart})
open("child", "w").write(str(child.pid))
hear()
{end}
"""


@pytest.mark.parametrize("how", ["killed", "ends"])
async def test_processes_that_a_worker_started_end_with_it(employer: Employer, how: str) -> None:
    worker = await employer.hire(LEAVES_A_CHILD.format(apart=False, end="os._exit(0)"))
    child = int(await file_text(employer.folder / "child"))
    assert alive(child)
    if how == "killed":
        worker.kill()
    else:
        worker.close()
    await worker.exited.wait()
    await eventually(lambda: not alive(child))
    assert not alive(worker.pid)


async def test_a_child_that_escaped_with_the_pipes_does_not_hold_up_the_end(employer: Employer) -> None:
    worker = await employer.hire(
        LEAVES_A_CHILD.format(apart=True, end="sys.stderr.write('bye'); sys.stderr.flush(); os._exit(1)")
    )
    child = int(await file_text(employer.folder / "child"))
    pending = worker.request("any", {})
    try:
        with pytest.raises(Crashed, match="exit code 1: bye"):
            await pending
        assert employer.exits == ["the worker ended with exit code 1: bye"]
    finally:
        os.kill(child, 9)


async def test_no_descriptor_is_left_when_workers_have_ended(employer: Employer) -> None:
    async def one() -> None:
        worker = await employer.hire(ECHO)
        await worker.request("any", {})
        worker.close()
        await worker.exited.wait()

    await one()
    await asyncio.sleep(0)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        await one()
    await eventually(lambda: len(os.listdir("/proc/self/fd")) <= before)


async def test_what_has_no_json_form_is_not_sent_and_leaves_nothing_behind(employer: Employer) -> None:
    worker = await employer.hire(ECHO)
    with pytest.raises(TypeError):
        worker.call(employer.caller("c1", on_progress=lambda _text, _percent: None), {"call": object()})
    with pytest.raises(TypeError):
        worker.request("any", object())
    assert await worker.request("any", "fine") == "fine"


async def test_many_frames_at_once_are_all_answered(employer: Employer) -> None:
    worker = await employer.hire(ECHO)
    texts = ["大" * number for number in range(0, 30_000, 300)]
    assert await asyncio.gather(*(worker.request("any", text) for text in texts)) == texts
