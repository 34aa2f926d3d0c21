"""The middleware of a server with FRONTDESK_ROLE=work, which serves probes and metrics alone."""

from __future__ import annotations

from aiohttp import web
from aiohttp.typedefs import Handler

from bot.observability.metrics import PATH as METRICS_PATH
from bot.web.auth.security import PROBE_PATHS
from bot.web.problems import problem

_OPEN_PATHS = frozenset({*PROBE_PATHS, METRICS_PATH})


@web.middleware
async def refuse_all_but_probes(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse all other requests with 503, so that a platform or proxy sends them elsewhere."""
    if request.path not in _OPEN_PATHS:
        raise problem(
            503,
            "This server only answers questions that other servers accepted.",
            cure="Send the request to a server with FRONTDESK_ROLE=accept or all.",
        )
    return await handler(request)
