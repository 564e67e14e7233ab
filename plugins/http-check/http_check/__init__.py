"""Checks a URL or a port: status, redirects, latency, certificate. Private addresses only where they are configured."""

import json
import ssl
import time
from datetime import UTC, datetime
from pathlib import Path

from .check import Check, Denied, Hop, NoHost
from .targets import Policy, Unreadable, parse

SOON_DAYS = 14
STEP_SECONDS = 10.0
CALL_SECONDS = 30.0
MARGIN_SECONDS = 1.0  # left of the call's own time to tell what was found

TEXT = json.loads(Path(__file__).with_name("sentences.json").read_text("utf-8"))


class Failure(Exception):
    """Ends the call with an error: a code of the envelope, and the name of a sentence in TEXT."""

    def __init__(self, code: str, text: str, **facts: object) -> None:
        super().__init__(text)
        self.code, self.text, self.facts = code, text, facts


async def handle(message: dict, context: dict) -> dict:
    """Check `target`, a URL, `host:port` or a host. That it is down is a result, and no error."""
    text = TEXT[context["locale"]]
    try:
        hops = await checked(message["payload"]["target"], context)
    except Failure as failure:
        sentence = text[failure.text].format(**failure.facts)
        return {"data": None, "error": {"code": failure.code, "message": sentence, "retryable": False}}
    return {"data": report(hops, text), "error": None, "warning": warning(hops, text)}


async def checked(asked: str, context: dict) -> list[Hop]:
    """Return what the target and the redirects after it came to."""
    config, text = context["config"], TEXT[context["locale"]]

    async def tell(name: str, **facts: object) -> None:
        await context["progress"](text[name].format(**facts))

    try:
        policy = Policy(config.get("targets", ()), allow_private=config.get("allow_private", False))
    except Unreadable as error:
        raise Failure("not_configured", "bad_targets", target=error) from None
    try:
        target = parse(asked)
    except Unreadable:
        raise Failure("invalid_payload", "unreadable", target=asked) from None
    deadline = context["deadline"] or time.time() + CALL_SECONDS
    check = Check(
        policy,
        lambda: trust(config.get("ca_file")),
        seconds=deadline - time.time() - MARGIN_SECONDS,
        tell=tell,
    )
    try:
        return await check.run(target, step=config.get("timeout", STEP_SECONDS))
    except Denied as error:
        raise Failure("upstream_denied", "denied", host=error) from None
    except NoHost as error:
        raise Failure("not_found", "no_host", host=error) from None


def trust(ca_file: str | None) -> ssl.SSLContext:
    """Return what certificates are judged by: the system's authorities and those of a file."""
    context = ssl.create_default_context()
    if ca_file is not None:
        try:
            context.load_verify_locations(ca_file)
        except OSError:
            raise Failure("not_configured", "bad_ca") from None
    return context


def report(hops: list[Hop], text: dict) -> dict:
    """Return what was found as one flat object, but for the redirects."""
    first, last = hops[0], hops[-1]
    problem = None if last.problem is None else text[last.problem[0]].format(**last.problem[1])
    if problem is None and (last.status or 0) >= 400:
        problem = text["status"].format(status=last.status)
    return {
        "target": str(first.target),
        "ok": problem is None,
        "problem": problem,
        "port_open": last.port_open,
        "status": last.status,
        "latency_ms": last.latency_ms,
        "certificate_days": days_left(last),
        "certificate_expires": None
        if last.expires is None
        else datetime.fromtimestamp(last.expires, UTC).isoformat(),
        "url": None if last.target.scheme == "tcp" else str(last.target),
        "address": last.address or None,
        "redirects": [{"status": hop.status, "url": str(hop.target)} for hop in hops[:-1]],
    }


def warning(hops: list[Hop], text: dict) -> str | None:
    """Return a sentence for every certificate on the way that expires soon; one that has expired is a problem."""
    soon = {}
    for hop in hops:
        days = days_left(hop)
        if days is not None and 0 <= days < SOON_DAYS:
            soon[hop.target.host] = days
    return " ".join(text["expiring"].format(host=host, days=days) for host, days in soon.items()) or None


def days_left(hop: Hop) -> int | None:
    """Return how many whole days the certificate is valid from now on, fewer than 0 if it has expired."""
    return None if hop.expires is None else int((hop.expires - time.time()) // 86400)
