"""The web server: routes, error answers, and uvicorn bound to a socket. It decides nothing about messages."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator, Sequence

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from hermes.errors import HermesError, StartError
from hermes.gateway.problems import on_hermes_error, on_not_found, on_wrong_method, problem
from hermes.observe.logs import Logger

_BACKLOG = 2048
_DRAIN = 5  # seconds open connections get once everything else has ended


class Server(uvicorn.Server):
    """uvicorn without a say in signals: when to stop is decided by who started it."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield

    def stop(self) -> None:
        """Begin to end: no new connections, and the open ones get a moment."""
        self.should_exit = True


def build_app(routes: Sequence[Route], log: Logger) -> ASGIApp:
    """Return the ASGI application that serves `routes`."""

    async def on_crash(request: Request, error: Exception) -> Response:
        log.error("request_failed", method=request.method, path=request.url.path, exc_info=error)
        return problem("internal", "Hermes could not do this; the log has the reason")

    app = Starlette(
        routes=list(routes),
        exception_handlers={
            HermesError: on_hermes_error,
            404: on_not_found,
            405: on_wrong_method,
            Exception: on_crash,
        },
    )
    app.router.redirect_slashes = False  # a path is there or it is not
    return app


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens; raises StartError saying what is in the way."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise StartError(
            f"cannot listen on {host}:{port}: {error.strerror}; end what uses it, or set hermes.bind to another port"
        ) from error


def build_server(app: ASGIApp) -> Server:
    """Return a server for the application; serve it with the socket from `bind`."""
    return Server(
        uvicorn.Config(
            app,
            loop="uvloop",
            http="httptools",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=_DRAIN,
        )
    )
