"""Plugins over HTTP: how each is, and what an admin may ask of one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hermes.errors import Forbidden
from hermes.gateway.access import Access
from hermes.gateway.head import Head
from hermes.host.host import Host


class Plugins:
    """The handlers of everything below /v1/plugins."""

    def __init__(self, host: Host, *, access: Access) -> None:
        self._host = host
        self._access = access

    @property
    def routes(self) -> list[Route]:
        """The paths that are served here."""
        orders = {"reload": self._host.reload, "disable": self._host.disable, "enable": self._host.enable}
        return [
            Route("/v1/plugins", self.list, methods=["GET"]),
            Route("/v1/plugins/{name}", self.show, methods=["GET"]),
            *(
                Route(f"/v1/plugins/{{name}}/{verb}", self._ordered(order), methods=["POST"])
                for verb, order in orders.items()
            ),
        ]

    async def list(self, request: Request) -> Response:
        """List all plugins, the broken ones with their reason."""
        self._access(Head.of(request))
        return _json({"items": self._host.describe(), "next": None})

    async def show(self, request: Request) -> Response:
        """Show one plugin."""
        self._access(Head.of(request))
        return _json(self._host.plugin(request.path_params["name"]))

    def _ordered(self, order: Callable[[str], Awaitable[None]]) -> Callable[[Request], Awaitable[Response]]:
        """Return the handler that carries out an order, and shows what became of the plugin."""

        async def handle(request: Request) -> Response:
            if not self._access(Head.of(request)).admin:
                raise Forbidden("this needs the scope admin")
            name = request.path_params["name"]
            await order(name)
            return _json(self._host.plugin(name))

        return handle


def _json(value: object) -> Response:
    return Response(orjson.dumps(value), media_type="application/json")
