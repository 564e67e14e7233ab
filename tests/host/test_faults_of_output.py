"""What plugins write too much of, or what makes no sense: none of it costs another call, nor much memory here."""

from __future__ import annotations

import psutil

from tests.support.bench import Bench
from tests.support.survival import Case, Plugin, handling, printing, speaking, survive, survived, wrong

LARGE: dict[str, Case] = {
    "python": (handling('return "x" * (100 << 20)'), "ResultTooLarge: the answer was over the frame limit"),
    "process": (
        speaking('say(id=asked, result="x" * (100 << 20))'),
        "ResultTooLarge: the answer was over the frame limit",
    ),
    "program": (
        printing('for _ in range(100): sys.stdout.write("x" * (1 << 20))'),
        "ResultTooLarge: the program printed more than 1048576 bytes",
    ),
}


async def test_a_result_of_100_mb_is_refused_without_being_held(bench: Bench) -> None:
    before = psutil.Process().memory_info().rss
    async with survived(bench, {name: plugin for name, (plugin, _) in LARGE.items()}) as survivors:
        ends = await survivors.harm(*LARGE)
    assert wrong(ends, {name: pattern for name, (_, pattern) in LARGE.items()}) == {}
    assert survivors.most_bytes - before < 64 << 20
    assert bench.book.lines(event="worker_exited") == []


LINE = '"进度" * 170'  # a kilobyte
TOLD = "'told'"
FLOODS: dict[str, Case] = {
    "python": (
        handling(f"for _ in range(20_000): await context['progress']({LINE})\nreturn 'told'"),
        TOLD,
    ),
    "process": (
        speaking(f"""
for _ in range(20_000):
    frame = '{{"method":"progress","params":{{"call":"%s","text":"%s"}}}}\\n'
    sys.stdout.write(frame % (call, {LINE}))
say(id=asked, result="told")
"""),
        TOLD,
    ),
    "program": (
        printing(
            f"for _ in range(20_000): sys.stderr.write('::progress:: ' + {LINE} + '\\n')\nprint('told')"
        ),
        TOLD,
    ),
    "never-a-line": (
        printing("for _ in range(20): sys.stderr.write('::progress:: ' + 'x' * (1 << 20))\nprint('told')"),
        TOLD,
    ),
}


async def test_20_mb_of_progress_come_to_their_end_beside_all_others(bench: Bench) -> None:
    await survive(bench, FLOODS)
    assert bench.book.lines(event="worker_exited") == []


LINES = '(b"x" * 999 + b"\\n") * 100'
LONG = '(b"x" * 49_999 + b"\\n") * 2'  # longer than what is logged of a line
CHILD = "head -c 10000000 /dev/zero | tr '\\0' x | fold -w 50000"
SPILLS: dict[str, Case] = {
    "to-stderr": (handling(f"for _ in range(100): os.write(2, {LINES})\nreturn 'told'"), TOLD),
    "to-stderr-without-end": (
        handling('for _ in range(160): os.write(2, b"x" * 65536)\nreturn "told"'),
        TOLD,
    ),
    "to-stdout": (handling(f"for _ in range(100): os.write(1, {LONG})\nreturn 'told'"), TOLD),
    "by-a-child": (handling(f"subprocess.run(['sh', '-c', {CHILD!r}], check=True)\nreturn 'told'"), TOLD),
    "by-print": (handling('for _ in range(10_000): print("x" * 999)\nreturn "told"'), TOLD),
    "by-a-process": (
        speaking(f"for _ in range(100): os.write(2, {LONG})\nsay(id=asked, result='told')"),
        TOLD,
    ),
    "by-a-program": (printing(f"for _ in range(100): os.write(2, {LINES})\nprint('told')"), TOLD),
}


async def test_10_mb_that_are_written_beside_the_wire_never_fill_a_pipe(bench: Bench) -> None:
    await survive(bench, SPILLS)
    for name in SPILLS:  # not read from the log, which has all of it
        restarts = "hermes_worker_restarts_total"
        assert [bench.metric(restarts, plugin=name, reason=why) for why in ("crash", "killed")] == [0, 0]


GARBAGE: dict[str, Case] = {
    "lines": (handling('os.write(1, b"not a frame\\n{}\\n[1]\\n"); print("{"); return "told"'), TOLD),
    "bytes-on-the-wire": (
        speaking("""
sys.stdout.buffer.write(random.randbytes(1 << 20) + b"\\n")
say(id=asked, result="told")
"""),
        TOLD,
    ),
    "empty-lines-on-the-wire": (
        speaking('sys.stdout.write("\\n" * 1_000_000)\nsay(id=asked, result="told")'),
        TOLD,
    ),
    "answers-that-nobody-waits-for": (
        speaking("""
for number in (0, -1, 10 ** 6, None, "w1", [1]):
    say(id=number, result="other")
say(id=asked, result="told")
say(id=asked, result="told twice")
"""),
        TOLD,
    ),
    "parts-of-frames": (
        speaking("""
sys.stdout.write('{"jsonrpc":"2.0","id":')
sys.stdout.flush()
time.sleep(0.05)
sys.stdout.write('%d,"result":"to' % asked)
sys.stdout.flush()
time.sleep(0.05)
sys.stdout.write('ld"}\\n')
sys.stdout.flush()
"""),
        TOLD,
    ),
}


async def test_garbage_on_stdout_is_logged_and_every_frame_behind_it_is_read(bench: Bench) -> None:
    await survive(bench, GARBAGE)
    assert bench.book.lines(event="worker_exited") == []
    warned = {
        line["plugin"]
        for line in bench.book.lines(event="plugin_log", level="warning")
        if line["text"].startswith("not a frame: ")
    }
    assert warned == {"bytes-on-the-wire"}


GIVES: Plugin = handling("return eval(how)")
UNWRITABLE = "Raised: the result cannot be written as JSON: "
RESULTS = {
    "float('nan')": UNWRITABLE,
    "{'a': [float('-inf')]}": UNWRITABLE,
    "{float('nan'): 1}": UNWRITABLE,
    "10 ** 5000": UNWRITABLE,
    "2 ** 64": "Raised: the result holds an integer beyond 64 bits",
    "[2 ** 64 - 1, -2 ** 63]": r"\[18446744073709551615, -9223372036854775808\]",
    "b'\\xff\\xfe'": UNWRITABLE,
    "b'\\xff\\xfe'.decode('utf-8', 'surrogateescape')": r"'\?\?'",
    "(lambda a: a.append(a) or a)([])": UNWRITABLE,
    "json.loads('[' * 900 + ']' * 900)": r"\[\[\[|Raised",
    "object()": UNWRITABLE,
}
SAYS: Plugin = speaking("sys.stdout.buffer.write(bytes.fromhex(how) % asked); sys.stdout.flush()")
UNREADABLE = "Raised: the result cannot be read: "
FRAMES = {
    b'{"id":%d,"result":NaN}\n': UNREADABLE,
    b'{"id":%d,"result":[-Infinity]}\n': UNREADABLE,
    b'{"id":%d,"result":1e999}\n': UNREADABLE,
    b'{"id":%d,"result":18446744073709551616}\n': "Raised: the result holds an integer beyond 64 bits",
    b'{"id":%d,"result":1' + b"0" * 5000 + b"}\n": "Raised: the result holds an integer beyond 64 bits",
    b'{"id":%d,"result":"\xff\xfe"}\n': UNREADABLE,
    b'{"result":"\xed\xa0\x80","id":%d}\n': UNREADABLE,
    b'{"id":%d,"result":"\\ud800"}\n': UNREADABLE,
    b'{"id":%d,"result":"\xef\xbb\xbf\xe6\x96\x87"}\n': r"'\\ufeff文'",
    b'{"id":%d,"result":' + b"[" * 5000 + b"]" * 5000 + b"}\n": UNREADABLE,
}
PRINTS: Plugin = printing("os.write(1, bytes.fromhex(how))")
PRINTED = {
    b"[NaN]": "Raised: the result holds NaN, which JSON does not have",
    b"[1e999]": UNREADABLE,
    b'{"data": 18446744073709551616}': "Raised: the result holds an integer beyond 64 bits",
    b"\xff\xfe ok": "'�� ok'",
}


async def test_a_result_that_is_no_json_fails_its_call_alone_and_none_is_rounded(bench: Bench) -> None:
    async with survived(bench, {"gives": GIVES, "says": SAYS, "prints": PRINTS}) as survivors:
        pids = [await bench.worker(name) for name in ("gives", "says")]
        for how, pattern in RESULTS.items():
            assert wrong(await survivors.harm("gives", how=how), {"gives": pattern}) == {}, how
        for frame, pattern in FRAMES.items():
            ends = await survivors.harm("says", how=frame.hex())
            assert wrong(ends, {"says": pattern}) == {}, frame
        for printed, pattern in PRINTED.items():
            ends = await survivors.harm("prints", how=printed.hex())
            assert wrong(ends, {"prints": pattern}) == {}, printed
        assert [await bench.worker(name) for name in ("gives", "says")] == pids
