"""http-check and certificates: how long they are valid, and those that are not."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.certificates import Authority
from tests.support.site import OPEN, Secure, Site, check, problem


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture
def secure(authority: Authority, tmp_path: Path) -> Secure:
    return Secure(authority, tmp_path)


@pytest.mark.parametrize("days", [90.5, 365 * 60 + 0.5])
async def test_the_days_until_the_certificate_expires_are_told(secure: Secure, days: float) -> None:
    file = secure.file(days)
    async with secure.site(file) as site:
        outcome = await check(f"https://localhost:{site.port}", OPEN | {"ca_file": str(file)})
    assert (outcome.data["ok"], outcome.data["status"], outcome.warning) == (True, 200, None)
    assert outcome.data["certificate_days"] == int(days)
    assert datetime.fromisoformat(outcome.data["certificate_expires"]) > datetime.now(UTC)


@pytest.mark.parametrize(
    ("locale", "warning"),
    [("zh", "localhost 的证书还有 13 天到期。"), ("en", "The certificate of localhost expires in 13 days.")],
)
async def test_a_certificate_that_expires_soon_is_a_warning(
    secure: Secure, locale: str, warning: str
) -> None:
    file = secure.file(13.9)
    async with secure.site(file) as site:
        config = OPEN | {"ca_file": str(file)}
        outcome = await check(f"https://localhost:{site.port}", config, locale=locale)
        assert (outcome.data["ok"], outcome.warning) == (True, warning)


@pytest.mark.parametrize("trusted", [True, False])
async def test_a_certificate_that_has_expired_is_a_problem_and_told_since_when(
    secure: Secure, *, trusted: bool
) -> None:
    file = secure.file(-2.5)
    async with secure.site(file) as site:
        config = OPEN | ({"ca_file": str(file)} if trusted else {})
        outcome = await check(f"https://127.0.0.1:{site.port}/", config, locale="zh")
        assert site.seen == [], "nothing is said to whoever has no valid certificate"
    assert outcome.data["problem"].startswith("证书无效：")
    assert (outcome.data["certificate_days"], outcome.data["status"], outcome.warning) == (-3, None, None)


async def test_a_certificate_of_another_name_is_a_problem(secure: Secure) -> None:
    file = secure.file(90.5, ("www.example.com",))
    async with secure.site(file) as site:
        outcome = await check(f"https://localhost:{site.port}/", OPEN | {"ca_file": str(file)})
    assert (outcome.data["ok"], outcome.data["port_open"], outcome.data["certificate_days"]) == (
        False,
        True,
        90,
    )
    assert "not valid for 'localhost'" in outcome.data["problem"]


async def test_a_server_that_speaks_no_tls_is_a_problem(site: Site) -> None:
    outcome = await check(f"https://127.0.0.1:{site.port}/")
    assert (outcome.data["ok"], outcome.data["port_open"], outcome.data["certificate_days"]) == (
        False,
        True,
        None,
    )
    assert "TLS" in outcome.data["problem"]


async def test_a_file_of_authorities_that_cannot_be_read_is_told_by_its_key(
    site: Site, tmp_path: Path
) -> None:
    (tmp_path / "empty").touch()
    for name in ("none", "empty"):
        config = OPEN | {"ca_file": str(tmp_path / name)}
        code, message = problem(await check(f"https://127.0.0.1:{site.port}/", config))
        assert (code, "plugins.http-check.ca_file" in message) == ("not_configured", True)
    assert site.connections == 0
