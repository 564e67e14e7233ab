"""Workers of real plugins start two at a time in the background; who is needed now starts beside them."""

from __future__ import annotations

import json

from tests.support.bench import Bench, eventually

WORKER = """
: > "{home}/began.{name}"
while [ ! -e "{home}/go.{name}" ]; do sleep 0.01; done
while read -r line; do
  id=$(printf %s "$line" | sed 's/.*"id":\\([0-9]*\\).*/\\1/')
  printf '{{"jsonrpc":"2.0","id":%s,"result":{{"protocol":1}}}}\\n' "$id"
done
"""


def write(bench: Bench, name: str, **workers: int) -> None:
    """Write a plugin whose worker is ready when the test says so."""
    folder = bench.write(name, "")
    manifest = {"name": name, "intents": [name], "runtime": "process", "command": ["sh", "worker.sh"]}
    (folder / "manifest.json").write_text(json.dumps(manifest | {"workers": workers or {"min": 1, "max": 1}}))
    (folder / "worker.sh").write_text(WORKER.format(home=bench.home, name=name))


def began(bench: Bench) -> str:
    return "".join(sorted(path.suffix[1:] for path in bench.home.glob("began.*")))


async def until_begun(bench: Bench, names: str) -> None:
    await eventually(lambda: began(bench) == names)


async def until_so_many(bench: Bench, count: int) -> None:
    await eventually(lambda: len(began(bench)) == count)


def let(bench: Bench, name: str) -> None:
    (bench.home / f"go.{name}").touch()


async def test_two_start_at_a_time_and_a_first_use_jumps_the_queue(bench: Bench) -> None:
    for name in "abcde":
        write(bench, name)
    bench.start()
    await until_begun(bench, "ab")
    let(bench, "e")
    assert await bench.run("e") == {"protocol": 1}
    assert began(bench) == "abe"
    for name, then in (("a", "abce"), ("b", "abcde")):
        let(bench, name)
        await until_begun(bench, then)
        assert await bench.run(name) == {"protocol": 1}
        assert began(bench) == then
    for name in "cd":
        let(bench, name)
        assert await bench.run(name) == {"protocol": 1}


async def test_candidates_of_many_changes_at_once_wait_for_their_turn_too(bench: Bench) -> None:
    bench.start()
    for name in "abcd":
        write(bench, name)
    assert bench.host is not None
    await bench.host.look()
    await until_so_many(bench, 2)
    first = began(bench)
    for count, name in enumerate((*first, *sorted(set("abcd") - set(first))), start=3):
        assert len(began(bench)) < count
        let(bench, name)
        await until_so_many(bench, min(count, 4))
    await bench.host.settle()
    assert [await bench.run(name) for name in "abcd"] == [{"protocol": 1}] * 4


async def test_a_plugin_without_workers_in_reserve_starts_none_before_its_first_use(bench: Bench) -> None:
    write(bench, "a", min=0, max=1)
    write(bench, "b")
    bench.start()
    let(bench, "b")
    assert await bench.run("b") == {"protocol": 1}
    assert began(bench) == "b"
    let(bench, "a")
    assert await bench.run("a") == {"protocol": 1}
    assert began(bench) == "ab"
