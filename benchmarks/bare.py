"""The bare thing to compare with: Starlette and uvicorn that read a JSON body and send it back."""

from __future__ import annotations

import socket

import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


async def echo(request: Request) -> Response:
    body = orjson.loads(await request.body())
    return Response(orjson.dumps(body), media_type="application/json")


if __name__ == "__main__":
    listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    print(listener.getsockname()[1], flush=True)
    app = Starlette(routes=[Route("/echo", echo, methods=["POST"])])
    config = uvicorn.Config(
        app, loop="uvloop", http="httptools", ws="none", lifespan="off", log_config=None, access_log=False
    )
    uvicorn.Server(config).run(sockets=[listener])
