"""The least that takes what platforms send: read, verify the signature or token, answer 200.

``python -m tests.bench.baseline_server [--keys URL]`` prints where it is, and serves until it
is ended; with the address of the keys that tokens are signed with, it takes Teams' activities, too.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable, Callable

import aiohttp
import jwt
from aiohttp import web
from slack_sdk.signature import SignatureVerifier

from tests.bench.beside import listen
from tests.fakes.slack.events import SECRET
from tests.fakes.teams.names import APP_ID, ISSUER

NAME = "tests.bench.baseline_server"
Handler = Callable[[web.Request], Awaitable[web.Response]]


async def _serve(keys: str) -> None:
    verifier = SignatureVerifier(SECRET)

    async def acknowledge(request: web.Request) -> web.Response:
        body = await request.read()
        valid = verifier.is_valid_request(body, dict(request.headers))
        return web.Response(status=200 if valid else 401)

    app = web.Application()
    app.router.add_post("/slack/events", acknowledge)
    if keys:
        app.router.add_post("/api/messages", await _for_teams(keys))
    print(await listen(app), flush=True)
    await asyncio.Event().wait()


async def _for_teams(keys: str) -> Handler:
    async with aiohttp.ClientSession() as session, session.get(keys) as answer:
        (published,) = (await answer.json())["keys"]
    key = jwt.PyJWK(published).key

    async def acknowledge(request: web.Request) -> web.Response:
        await request.json()
        token = request.headers["Authorization"].removeprefix("Bearer ")
        jwt.decode(token, key, algorithms=["RS256"], audience=APP_ID, issuer=ISSUER)
        return web.Response()

    return acknowledge


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--keys", default="")
    asyncio.run(_serve(parser.parse_args().keys))
