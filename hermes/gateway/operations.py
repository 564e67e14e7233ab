"""What an operator asks: a dry run of the router, health and metrics."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, fields
from typing import Literal

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hermes.dispatch.sentences import locale_of, say
from hermes.dispatch.vocabulary import Vocabulary
from hermes.gateway.access import Access
from hermes.gateway.bodies import RouteBody, check, read_json
from hermes.gateway.head import Head
from hermes.messages import Decision
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
    words: Vocabulary
    metrics: Metrics
    locale: Literal["auto", "zh", "en"] = "auto"
    """The language of sentences; "auto" is that of each text."""


class Operations:
    """The handlers of everything that is not a message; bodies may have at most `body_bytes`."""

    def __init__(
        self, parts: Parts, *, access: Access, readiness: Callable[[], Awaitable[Readiness]], body_bytes: int
    ) -> None:
        self._router = parts.router
        self._words = parts.words
        self._metrics = parts.metrics
        self._locale = parts.locale
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
        """Say where a text would go, and why; nothing runs."""
        head = Head.of(request)
        self._access(head)
        body = check(RouteBody, await read_json(head, request.receive, limit=self._body_bytes))
        language = locale_of(body.text, {}, preferred=self._locale)
        word = self._words.intent_of(body.text)
        if word is not None:
            reason = say("built_in", language, word=word)
            return _json({**_members(Decision("given", word, 1.0)), "reason": reason})
        explanation = self._router.explain(body.text, language=language)
        return _json({**_members(explanation.decision), "reason": explanation.reason})

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


def _members(decision: Decision) -> dict[str, object]:
    return {field.name: getattr(decision, field.name) for field in fields(decision)}


def _json(value: object, status: int = 200) -> Response:
    return Response(orjson.dumps(value), status, media_type="application/json")
