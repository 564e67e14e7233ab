"""Plugins that change at once and want what others give up: all of it happens in one step."""

from __future__ import annotations

import asyncio
import os
import random
import shutil

import pytest

from hermes.host.workers.failures import Superseded
from tests.support.bench import HOLD, Bench, eventually
from tests.support.saving import says
from tests.support.together import errors, manifest, pair, reloads, served, swap, witness


async def test_two_that_swap_their_folders_are_what_they_were_and_neither_is_reloaded(bench: Bench) -> None:
    a, b = await pair(bench)
    pids = [await bench.run(name) for name in "pq"]
    async with witness(bench) as seen:
        swap(a, b)
        await bench.look()
    assert [await bench.run(name) for name in "pq"] == pids
    assert (reloads(bench, "p", "q"), errors(bench), len(seen)) == ([0, 0], {"p": None, "q": None}, 1)
    (a / "plugin.py").write_text(says("new q"))
    await bench.look()
    assert [await bench.run(name) for name in "pq"] == [pids[0], "new q"]
    shutil.rmtree(b)
    await bench.look()
    assert served(bench) == {"q": "q"}


async def test_two_that_swap_their_folders_and_are_edited_are_reloaded_once_each(bench: Bench) -> None:
    a, b = await pair(bench)
    swap(a, b)
    for folder, word in ((a, "new q"), (b, "new p")):
        (folder / "plugin.py").write_text(says(word))
    await bench.look()
    assert [await bench.run(name) for name in "pq"] == ["new p", "new q"]
    assert (reloads(bench, "p", "q"), errors(bench)) == ([1, 1], {"p": None, "q": None})


async def test_of_two_that_swap_their_names_each_name_has_the_code_of_its_folder(bench: Bench) -> None:
    a, b = await pair(bench)
    for folder in (a, b):
        (folder / "plugin.py").write_text(says(f"of {folder.name}"))
    await bench.look()
    async with witness(bench) as seen:
        manifest(a, "q", "q")
        manifest(b, "p", "p")
        await bench.look()
    assert [await bench.run(name) for name in "pq"] == ["of b", "of a"]
    assert (errors(bench), len(seen)) == ({"p": None, "q": None}, 1)


async def test_two_that_swap_their_intents_do_so_in_one_step_and_running_calls_end_where_they_began(
    bench: Bench,
) -> None:
    a, b = await pair(bench, HOLD)
    running = [bench.run(name, request_id=f"first {name}") for name in "pq"]
    for run in running:
        await run.started.wait()
    async with witness(bench) as seen:
        for folder, name, intent in ((a, "p", "q"), (b, "q", "p")):
            manifest(folder, name, intent)
            (folder / "plugin.py").write_text(says(f"new {name}"))
        await bench.look()
        assert [await bench.run(intent) for intent in "pq"] == ["new q", "new p"]
    assert seen == [{"p": "p", "q": "q"}, {"q": "p", "p": "q"}]
    for name in "pq":
        (bench.data(name) / "go").touch()
    assert [await run for run in running] == ["first p", "first q"]
    assert (reloads(bench, "p", "q"), errors(bench)) == ([1, 1], {"p": None, "q": None})


async def test_no_call_fails_or_runs_twice_while_intents_go_to_and_fro(bench: Bench) -> None:
    code = "async def handle(message, context):\n    return message['request_id']\n"
    a, b = await pair(bench, code, concurrency=4)
    done: list[str] = []
    over = asyncio.Event()

    async def call(intent: str) -> int:
        number = 0
        while not over.is_set():
            try:
                done.append(await bench.run(intent, request_id=f"{intent}{number}"))
            except Superseded:
                continue
            number += 1
        return number

    calling = [asyncio.ensure_future(call(intent)) for intent in "pq"]
    for turn in range(8):
        mine, other = ("q", "p") if turn % 2 == 0 else ("p", "q")
        manifest(a, "p", mine, concurrency=4)
        manifest(b, "q", other, concurrency=4)
        await bench.look()
        assert served(bench) == {mine: "p", other: "q"}
    over.set()
    counts = [await each for each in calling]
    assert sorted(done) == sorted(
        f"{intent}{number}" for intent, count in zip("pq", counts, strict=True) for number in range(count)
    )
    assert min(counts) > 8
    assert [bench.plugin(name)["failures"] for name in "pq"] == [0, 0]


async def test_an_intent_that_moves_is_served_by_one_of_the_two_at_any_moment(bench: Bench) -> None:
    a, b = await pair(bench)
    async with witness(bench) as seen:
        manifest(a, "p", "p", "q")
        manifest(b, "q", "other")
        await bench.look()
    assert seen == [{"p": "p", "q": "q"}, {"p": "p", "q": "p", "other": "q"}]


async def test_an_intent_of_a_plugin_that_goes_is_served_until_the_one_that_takes_it_works(
    bench: Bench,
) -> None:
    a, b = await pair(bench)
    async with witness(bench) as seen:
        shutil.rmtree(b)
        manifest(a, "p", "p", "q")
        await bench.look()
        await eventually(lambda: "q" not in errors(bench))
    assert seen == [{"p": "p", "q": "q"}, {"p": "p", "q": "p"}]


async def test_names_may_move_on_from_one_folder_to_the_next(bench: Bench) -> None:
    a, b = await pair(bench)
    async with witness(bench) as seen:
        manifest(a, "q", "q")
        manifest(b, "r", "r", "p")
        await bench.look()
        await eventually(lambda: "p" not in errors(bench))
    assert seen == [{"p": "p", "q": "q"}, {"q": "q", "r": "r", "p": "r"}]
    assert errors(bench) == {"q": None, "r": None}


async def test_a_folder_put_in_the_place_of_another_takes_its_plugin_along(bench: Bench) -> None:
    a, b = await pair(bench)
    pid = await bench.run("q")
    shutil.rmtree(a)
    b.rename(a)
    await bench.look()
    await eventually(lambda: errors(bench) == {"q": None})
    assert (served(bench), await bench.run("q"), reloads(bench, "q")) == ({"q": "q"}, pid, [0])


@pytest.mark.parametrize("seed", range(3))
async def test_invariant_whatever_changes_at_once_an_intent_that_stays_is_served_by_one_at_any_moment(
    bench: Bench, seed: int
) -> None:
    choose = random.Random(seed)
    folders = [bench.home / "plugins" / f"f{number}" for number in range(4)]
    folders[0].parent.mkdir(parents=True)
    names, intents = [f"n{number}" for number in range(5)], [f"i{number}" for number in range(7)]

    def rearrange() -> dict[str, str]:
        """Give the folders new names and intents; return what is to be served then."""
        shutil.rmtree(folders[0].parent)
        choose.shuffle(names)
        choose.shuffle(intents)
        wanted, rest = dict[str, str](), list(intents)
        for folder, name in zip(choose.sample(folders, choose.randint(2, 4)), names, strict=False):
            own = [rest.pop() for _ in range(choose.randint(1, 2)) if rest]
            if not own:
                break
            folder.mkdir(parents=True)
            http = {"url": f"http://127.0.0.1:9/{choose.randint(1, 3)}"}
            manifest(folder, name, *own, runtime="http", http=http)
            wanted |= dict.fromkeys(own, name)
        return wanted

    before = rearrange()
    host = bench.start()
    assert served(bench) == before
    for _ in range(15):
        async with witness(bench) as seen:
            wanted = rearrange()
            await host.look()
            await host.settle()
        assert seen[-1] == served(bench) == wanted
        assert set(errors(bench).values()) <= {None}
        stays = before.keys() & wanted.keys()
        for state in seen:
            assert stays <= state.keys()
        before = wanted
    assert os.listdir(bench.home / "state" / "staged")
