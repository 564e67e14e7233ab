"""What every runtime has to do, whatever it runs."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import uvloop

from hermes.catalog import find, known
from hermes.config.validation import keys_of
from hermes.host.manifests.manifest_file import LimitsFile, ManifestFile
from hermes.host.manifests.manifest_keys import RUNTIMES
from hermes.host.workers.failures import CallEnded, Crashed, Raised, ResultTooLarge
from hermes.host.workers.worker import Worker
from tests.support.bench import alive, eventually
from tests.support.shop import Job, Shop
from tests.support.specimens.base import FAULT, MakeSpecimen, Specimen

KINDS = known(RUNTIMES)


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Run these tests on the daemon's own kind of loop."""
    return {"uvloop": uvloop.new_event_loop}


@pytest.fixture(params=KINDS)
async def specimen(request: pytest.FixtureRequest) -> AsyncIterator[Specimen]:
    name = f"tests.support.specimens.{request.param}"
    assert importlib.util.find_spec(name), f"the runtime {request.param} has no specimen: write {name}"
    make: MakeSpecimen = importlib.import_module(name).specimen
    async with make() as one:
        yield one


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    shop = Shop(tmp_path)
    yield shop
    await shop.close()


@pytest.fixture
async def worker(shop: Shop, specimen: Specimen) -> Worker:
    """A worker of each kind."""
    shop.write(specimen.files, **specimen.manifest)
    return await shop.open()


async def ends(job: Job) -> str:
    """Return the sentence of how a call failed, by an error that it returned or that was raised."""
    try:
        envelope = await job.result()
    except Raised as error:
        return error.reason
    return str(envelope["error"]["message"])


async def echo(shop: Shop, worker: Worker, text: str) -> Any:
    return (await shop.ask(worker, {"text": text}))["data"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_made_without_arguments_and_its_keys_are_its_own(kind: str) -> None:
    runtime = find(RUNTIMES, kind)()
    assert runtime.options.model_config["extra"] == "forbid"
    assert keys_of(runtime.options).isdisjoint(keys_of(ManifestFile))
    assert runtime.limits <= LimitsFile.model_fields.keys()


@pytest.mark.parametrize("text", ["hello", "磁盘 disk 🚀", "é e\u0301 \u2028", "{city} ${HOME} %2F"])
async def test_a_call_comes_to_its_data_in_any_script(shop: Shop, worker: Worker, text: str) -> None:
    job = shop.begin(worker, {"text": text})
    assert (await job.result())["data"] == text
    assert job.pending.left.is_set()
    assert (worker.busy, shop.idle) == (0, 1)


async def test_progress_is_told_before_the_answer(shop: Shop, worker: Worker, specimen: Specimen) -> None:
    job = shop.begin(worker, {"text": "看"})
    await job.result()
    assert job.progress == ([("正在看", 40)] if specimen.tells else [])


async def test_an_error_is_one_sentence_and_fails_its_call_alone(shop: Shop, worker: Worker) -> None:
    assert FAULT in await ends(shop.begin(worker, {"text": "fail"}))
    assert await echo(shop, worker, "again") == "again"


async def test_a_result_over_the_limit_fails_its_call_alone(shop: Shop, worker: Worker) -> None:
    with pytest.raises(ResultTooLarge):
        await shop.ask(worker, {"text": "large"})
    assert await echo(shop, worker, "again") == "again"


async def test_a_call_that_is_cancelled_leaves_and_the_worker_serves_on(shop: Shop, worker: Worker) -> None:
    job = shop.begin(worker, {"text": "wait"})
    await asyncio.sleep(0)
    worker.cancel(job.id)
    await asyncio.wait_for(job.pending.left.wait(), 20)
    with pytest.raises(CallEnded):
        await job.result()
    assert worker.busy == 0
    assert await echo(shop, worker, "again") == "again"


async def test_several_calls_at_once_get_their_own_answers(shop: Shop, worker: Worker) -> None:
    jobs = {f"第{number}": shop.begin(worker, {"text": f"第{number}"}) for number in range(4)}
    assert {text: (await job.result())["data"] for text, job in jobs.items()} == {text: text for text in jobs}


async def test_what_cannot_be_written_as_json_is_refused_before_it_begins(shop: Shop, worker: Worker) -> None:
    with pytest.raises(TypeError):
        shop.begin(worker, {"text": {1, 2}})
    worker.busy -= 1
    assert await echo(shop, worker, "again") == "again"


async def test_a_worker_shows_that_it_listens_and_what_runs_for_it(shop: Shop, worker: Worker) -> None:
    await asyncio.wait_for(worker.ping(), 20)
    job = shop.begin(worker, {"text": "wait"})
    await asyncio.sleep(0)
    rows = worker.processes()
    assert all(alive(row.pid) for row in rows)
    assert worker.pid in {0, *(row.pid for row in rows)}
    worker.cancel(job.id)
    await asyncio.wait_for(job.pending.left.wait(), 20)


async def test_a_worker_that_is_closed_leaves_by_itself_and_tells_once(shop: Shop, worker: Worker) -> None:
    assert await echo(shop, worker, "first") == "first"
    worker.close()
    await asyncio.wait_for(worker.exited.wait(), 20)
    assert len(shop.exits) == 1
    assert worker.processes() == [] or not any(alive(row.pid) for row in worker.processes())
    with pytest.raises(Crashed):
        await shop.ask(worker, {"text": "late"})


async def test_a_worker_that_is_killed_takes_its_calls_with_it(shop: Shop, worker: Worker) -> None:
    jobs = [shop.begin(worker, {"text": "wait"}) for _ in range(2)]
    await eventually(lambda: any(job.progress for job in jobs) or not worker.pid)
    pids = [row.pid for row in worker.processes()]
    worker.kill("was ended by the test")
    await asyncio.wait_for(worker.exited.wait(), 20)
    for job in jobs:
        with pytest.raises(Crashed, match="was ended by the test"):
            await job.result()
    assert not any(alive(pid) for pid in pids)
    assert worker.killed
    assert len(shop.exits) == 1
