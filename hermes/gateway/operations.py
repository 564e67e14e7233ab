"""What an operator asks: a dry run of the router, health and metrics."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hermes.gateway.access import Access
from hermes.gateway.bodies import RouteBody, check, read_json
from hermes.gateway.head import Head
from hermes.observe.metrics import CONTENT_TYPE, Metrics
from hermes.routing.router import Router


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether messages can be accepted: `unavailable` not, `degraded` with something missing."""

    status: str
    reasons: list[str]


@dataclass(frozen=True, slots=True)
class Parts:
    """What is asked about."""

    router: Router
    metrics: Metrics


class Operations:
    """The handlers of everything that is not a message; bodies may have at most `body_bytes`."""

    def __init__(
        self, parts: Parts, *, access: Access, readiness: Callable[[], Awaitable[Readiness]], body_bytes: int
    ) -> None:
        self._router = parts.router
        self._metrics = parts.metrics
        self._body_bytes = body_bytes
        self._access = access
        self._readiness = readiness

    @property
    def routes(self) -> list[Route]:
        """The paths that are served here."""
        return [
            Route("/v1/route", self.route, methods=["POST"]),
            Route("/healthz", self.health, methods=["GET"]),
            Route("/readyz", self.ready, methods=["GET"]),
            Route("/metrics", self.metrics, methods=["GET"]),
        ]

    async def route(self, request: Request) -> Response:
        """Say where a text would go; nothing runs."""
        head = Head.of(request)
        self._access(head)
        body = check(RouteBody, await read_json(head, request.receive, limit=self._body_bytes))
        return _json(self._router.route(body.text).decision)

    async def health(self, _request: Request) -> Response:
        """Say that the process answers."""
        return _json({"status": "ok"})

    async def ready(self, request: Request) -> Response:
        """Say whether messages can be accepted, and why not."""
        self._access(Head.of(request))
        readiness = await self._readiness()
        return _json(readiness, 503 if readiness.status == "unavailable" else 200)

    async def metrics(self, request: Request) -> Response:
        """Return all metrics for Prometheus."""
        self._access(Head.of(request))
        return Response(self._metrics.render(), headers={"Content-Type": CONTENT_TYPE})


def _json(value: object, status: int = 200) -> Response:
    return Response(orjson.dumps(value), status, media_type="application/json")
