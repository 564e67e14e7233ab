from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from hermes.host.workers.failures import Raised
from tests.support.bench import eventually
from tests.support.scripts import data, result, script
from tests.support.shop import Shop

# What a program is given.


async def test_the_message_comes_on_stdin_as_one_line_of_json(shop: Shop) -> None:
    worker = await script(shop, "cat")
    assert await shop.ask(worker, {"text": "你好", "n": 3}) == {
        "request_id": "r1",
        "session_id": "s1",
        "intent": "p",
        "payload": {"text": "你好", "n": 3},
        "source": "api",
        "timestamp": 1.5,
    }


async def test_stdin_and_stderr_can_be_opened_by_their_names(shop: Shop) -> None:
    job = shop.begin(
        await script(
            shop, 'cat /dev/stdin >/dev/null\necho "::progress:: 读完" >/dev/stderr\necho ok >/dev/stdout'
        )
    )
    assert await job.result() == "ok"
    assert job.progress == [("读完", None)]


async def test_a_program_that_never_reads_a_large_message_is_not_held_up(shop: Shop) -> None:
    worker = await script(shop, "echo done")
    assert await shop.ask(worker, {"text": "长" * 300_000}) == "done"
    worker = await script(shop, "exec <&-; echo closed")
    assert await shop.ask(worker, {"text": "长" * 300_000}) == "closed"


async def test_the_environment_is_what_is_documented_and_nothing_else(tmp_path: Path) -> None:
    shop = Shop(tmp_path, environ={"HOME": "/home/x", "GITLAB_TOKEN": "geheim", "AWS_SECRET": "no"})
    shop.config = {"项目": ["a", 1]}
    worker = await script(shop, "/usr/bin/env", env=["GITLAB_TOKEN"])
    printed = await shop.ask(worker, locale="zh")
    await shop.close()
    environment = dict(line.split("=", 1) for line in printed.splitlines())
    assert json.loads(environment.pop("HERMES_CONFIG")) == {"项目": ["a", 1]}
    for made_by_the_shell in ("PWD", "OLDPWD", "SHLVL", "_"):
        environment.pop(made_by_the_shell, None)
    assert environment == {
        "HOME": "/home/x",
        "GITLAB_TOKEN": "geheim",
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        "HERMES_REQUEST_ID": "r1",
        "HERMES_SESSION_ID": "s1",
        "HERMES_IDEMPOTENCY_KEY": "k1",
        "HERMES_DATA_DIR": str(data(shop, "")).rstrip("/"),
        "HERMES_LOCALE": "zh",
    }


async def test_it_runs_in_the_plugins_folder_with_its_arguments(shop: Shop) -> None:
    worker = await script(shop, 'ls; echo "$1|$2|$#"', command=["./run.sh", "a b", "甲$(x)"])
    assert await shop.ask(worker) == "manifest.json\nrun.sh\na b|甲$(x)|2"


async def test_a_program_is_looked_for_on_the_path(shop: Shop) -> None:
    worker = await script(shop, "", command=["printf", "%s", "嗨"])
    assert await shop.ask(worker) == "嗨"


# What it says.


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("", None),
        ("\\n", None),
        ("plain text\\n", "plain text"),
        ("两行\\n文字\\n", "两行\n文字"),
        ("\\n  indented\\n", "\n  indented"),
        ('{"a": [1, 2.5, null, true]}\\n', {"a": [1, 2.5, None, True]}),
        ('{"data": 1, "warning": "慢"}', {"data": 1, "warning": "慢"}),
        (
            '{"error": {"code": "not_found", "message": "没有"}}',
            {"error": {"code": "not_found", "message": "没有"}},
        ),
        ('"text"', "text"),
        ("42\\n", 42),
        ("18446744073709551615", 18446744073709551615),
        ('{"a": 1', '{"a": 1'),
        ("[info] done", "[info] done"),
        ("nan", "nan"),
        ("\\377\\376 bytes", "\ufffd\ufffd bytes"),
        ("\\357\\273\\277[1]", [1]),
    ],
)
async def test_stdout_is_json_or_else_text(shop: Shop, printed: str, expected: Any) -> None:
    quoted = printed.replace("%", "%%").replace("'", "'\\''")
    assert await result(shop, f"printf '{quoted}'") == expected


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        ('{"load": NaN}', "the result holds NaN, which JSON does not have"),
        ("[-Infinity]", "the result holds -Infinity, which JSON does not have"),
        ('{"id": 18446744073709551616}', "the result holds an integer beyond 64 bits"),
        ("123456789012345678901234", "the result holds an integer beyond 64 bits"),
        ('["\\\\ud800"]', "the result cannot be read"),
    ],
)
async def test_json_that_only_a_lenient_reader_takes_is_refused(
    shop: Shop, printed: str, reason: str
) -> None:
    with pytest.raises(Raised, match=reason):
        await result(shop, f"printf '{printed}'")


async def test_lines_of_progress_are_told_and_others_are_logged(shop: Shop) -> None:
    job = shop.begin(
        await script(
            shop,
            "{ echo '::progress:: 正在看'; echo '::progress 40:: half'; echo 'warning: slow disk'\n"
            "printf '::progress 99.5%%:: nearly\\r\\n'; echo '::progress 1 2:: no'; echo; printf '::progress:: 完'; } >&2",
        )
    )
    assert await job.result() is None
    assert job.progress == [("正在看", None), ("half", 40.0), ("nearly", 99.5), ("完", None)]
    assert shop.lines == [
        ("info", "warning: slow disk", job.id),
        ("info", "::progress 1 2:: no", job.id),
    ]


async def test_progress_comes_while_the_program_runs(shop: Shop) -> None:
    worker = await script(
        shop,
        'echo "::progress 10:: waiting" >&2; while [ ! -e "$HERMES_DATA_DIR/go" ]; do sleep 0.01; done; echo on',
    )
    job = shop.begin(worker)
    await eventually(lambda: job.progress)
    assert not job.pending.answer.done()
    data(shop, "go").touch()
    assert await job.result() == "on"


async def test_a_flood_on_stderr_is_bounded_and_told(shop: Shop) -> None:
    job = shop.begin(
        await script(
            shop,
            "i=0; while [ $i -lt 20000 ]; do echo '::progress:: 洪水'; echo noise; i=$((i+1)); done >&2\n"
            "head -c 3000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo last words >&2; echo ok",
        )
    )
    assert await job.result() == "ok"
    assert 0 < len(job.progress) < 20_000
    levels = [level for level, *_ in shop.lines]
    assert levels == ["info"] * 1000 + ["warning"]
    assert shop.lines[-1][1] == "19002 more lines on stderr were left out"


async def test_a_long_line_is_cut_and_bytes_that_are_no_text_are_replaced(shop: Shop) -> None:
    await result(shop, "{ head -c 100000 /dev/zero | tr '\\0' x; printf '\\n\\377\\n'; } >&2")
    (long, bad) = shop.lines
    assert long[1] == "x" * 8192 + "…"
    assert bad[1] == "\ufffd"
