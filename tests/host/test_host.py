from __future__ import annotations

from tests.support.bench import Bench


async def test_a_call_runs_in_a_process_of_its_own_and_returns_what_the_handler_returned(
    bench: Bench,
) -> None:
    bench.write(
        "who", "import os\nasync def handle(message, context):\n    return os.getpid(), message['payload']\n"
    )
    bench.start()
    pid, payload = await bench.run("who", {"text": "你是谁 🚀"})
    assert payload == {"text": "你是谁 🚀"}
    assert pid == await bench.worker("who")
