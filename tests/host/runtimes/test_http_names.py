from __future__ import annotations

import socket

import pytest

from hermes.host.http.names import Names


async def test_a_name_of_this_machine_is_found() -> None:
    found = await Names().resolve("localhost", 80, socket.AF_INET)
    assert {(one["host"], one["port"]) for one in found} == {("127.0.0.1", 80)}


@pytest.mark.parametrize("name", ["no-such-host.invalid", "a" * 300, "bad..name"])
async def test_a_name_that_leads_nowhere_is_an_error_of_the_system(name: str) -> None:
    with pytest.raises(OSError, match=r".+"):
        await Names().resolve(name, 80)
