"""Plugins that change at once, and of which one fails, hangs or is still written to: what depends on it stays as it was."""

from __future__ import annotations

import asyncio

from tests.support.bench import OBEY, Bench, eventually
from tests.support.saving import says
from tests.support.together import BROKEN, errors, manifest, pair, reloads, served, swap, witness


async def test_where_one_of_two_fails_both_stay_and_say_why_and_all_others_go_on(bench: Bench) -> None:
    c = bench.write("c", says("old"))
    a, b = await pair(bench)
    async with witness(bench) as seen:
        manifest(a, "p", "q")
        manifest(b, "q", "p")
        (b / "plugin.py").write_text(BROKEN)
        (c / "plugin.py").write_text(says("new"))
        await bench.look()
    assert len(seen) == 1
    assert (await bench.run("c"), reloads(bench, "c", "p", "q")) == ("new", [1, 0, 0])
    told = errors(bench)
    assert "SyntaxError" in (told["q"] or "")
    assert "or mend the new version of q if that gives it up: plugin.py:3: SyntaxError" in (told["p"] or "")
    assert [await bench.run(name) for name in "pq"] == [await bench.worker(name) for name in "pq"]
    (b / "plugin.py").write_text(says("mended"))
    await bench.look()
    assert (served(bench), errors(bench)) == (
        {"c": "c", "q": "p", "p": "q"},
        {"c": None, "p": None, "q": None},
    )
    assert await bench.run("p") == "mended"


async def test_one_that_gives_something_up_does_not_depend_on_who_wants_it(bench: Bench) -> None:
    a, b = await pair(bench)
    manifest(a, "p", "p", "q")
    (a / "plugin.py").write_text(BROKEN)
    manifest(b, "q", "other")
    await bench.look()
    assert served(bench) == {"p": "p", "other": "q"}
    assert "SyntaxError" in (errors(bench)["p"] or "")


async def test_what_hangs_holds_up_who_depends_on_it_and_nobody_else_and_a_later_save_frees_both(
    bench: Bench,
) -> None:
    c = bench.write("c", says("old"))
    a, b = await pair(bench)
    assert bench.host is not None
    manifest(a, "p", "q")
    manifest(b, "q", "p")
    (b / "plugin.py").write_text("import time\ntime.sleep(600)\n" + says("slow"))
    (c / "plugin.py").write_text(says("new"))
    await bench.host.look()
    await eventually(lambda: reloads(bench, "c") == [1])
    assert served(bench) == {"c": "c", "p": "p", "q": "q"}
    (b / "plugin.py").write_text(says("fast"))
    await bench.look()
    assert (served(bench), errors(bench)) == (
        {"c": "c", "q": "p", "p": "q"},
        {"c": None, "p": None, "q": None},
    )
    assert [await bench.run("p"), reloads(bench, "p", "q")] == ["fast", [1, 1]]


async def test_to_disable_one_of_two_gives_both_changes_up_and_the_other_is_looked_at_again(
    bench: Bench,
) -> None:
    a, b = await pair(bench)
    assert bench.host is not None
    manifest(a, "p", "q")
    manifest(b, "q", "p")
    (b / "plugin.py").write_text("import time\ntime.sleep(600)\n" + says("slow"))
    await bench.host.look()
    await bench.host.disable("q")
    await bench.host.settle()
    assert served(bench) == {"p": "p", "q": "q"}
    assert "belongs to the plugin q already" in (errors(bench)["p"] or "")
    (b / "plugin.py").write_text(says("new"))
    await bench.host.enable("q")
    await bench.host.settle()
    assert (served(bench), errors(bench)) == ({"q": "p", "p": "q"}, {"p": None, "q": None})


async def test_a_name_that_its_owner_could_not_change_stays_with_it(bench: Bench) -> None:
    a, b = await pair(bench)
    manifest(a, "q", "q")
    manifest(b, "r", "r")
    (b / "plugin.py").write_text(BROKEN)
    await bench.look()
    assert served(bench) == {"p": "p", "q": "q"}
    assert "or mend the new version of q if that gives it up" in (errors(bench)["p"] or "")


async def test_of_two_that_want_the_same_the_one_that_has_it_keeps_it(bench: Bench) -> None:
    a, b = await pair(bench)
    manifest(a, "p", "p", "q")
    (b / "plugin.py").write_text(says("new"))
    await bench.look()
    assert (served(bench), await bench.run("q")) == ({"p": "p", "q": "q"}, "new")
    assert "belongs to the plugin q already" in (errors(bench)["p"] or "")
    [line] = bench.book.lines(event="plugin_refused")
    for word in ("newer", "newest"):  # it is tried again with each, and told once
        (b / "plugin.py").write_text(says(word))
        await bench.look()
    assert bench.book.lines(event="plugin_refused") == [line]
    manifest(b, "q", "other")
    await bench.look()
    assert (served(bench), errors(bench)["p"]) == ({"p": "p", "q": "p", "other": "q"}, None)


async def test_who_gives_something_up_waits_for_a_folder_that_is_still_written_to(bench: Bench) -> None:
    for folder_name, name in (("a", "p"), ("b", "q")):
        manifest(bench.write(folder_name, OBEY), name, name)
    host = bench.start(rest=0.3)
    a, b = (bench.home / "plugins" / name for name in "ab")
    for name in "pq":
        await bench.worker(name)
    async with witness(bench) as seen:
        manifest(a, "p", "other")
        await asyncio.sleep(0.3)  # the rest that a folder has to be left alone for
        manifest(b, "q", "p", "q")
        await host.look()
        await host.settle()
    assert seen == [{"p": "p", "q": "q"}, {"other": "p", "p": "q", "q": "q"}]


async def test_two_that_want_what_the_other_keeps_are_told_once_each(bench: Bench) -> None:
    a, b = await pair(bench)
    c = bench.write("c", says("old"))
    manifest(a, "p", "p", "q")
    manifest(b, "q", "p", "q")
    await bench.look()
    told = errors(bench)
    assert ["already; rename one" in (told[name] or "") for name in "pq"] == [True, True]
    for word in ("new", "newer", "newest"):
        (c / "plugin.py").write_text(says(word))
        await bench.look()
    assert errors(bench) == told | {"c": None}
    assert len(bench.book.lines(event="plugin_refused")) == 2
    assert served(bench) == {"c": "c", "p": "p", "q": "q"}


async def test_a_disabled_plugin_that_was_swapped_is_found_where_it_is_when_it_is_enabled(
    bench: Bench,
) -> None:
    a, b = await pair(bench)
    assert bench.host is not None
    await bench.host.disable("q")
    swap(a, b)
    await bench.look()
    assert (served(bench), bench.plugin("q")["state"]) == ({"p": "p", "q": "q"}, "disabled")
    await bench.run("p")
    await bench.host.enable("q")
    await bench.host.settle()
    assert (bench.plugin("q")["state"], errors(bench)) == ("ready", {"p": None, "q": None})
    (a / "plugin.py").write_text(says("new q"))
    await bench.look()
    assert await bench.run("q") == "new q"
