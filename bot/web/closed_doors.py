"""What a server with FRONTDESK_ROLE=work serves: probes and metrics; nobody asks there."""

from __future__ import annotations

from aiohttp import web
from aiohttp.typedefs import Handler

from bot.observability.metrics import PATH as METRICS_PATH
from bot.web.auth.security import PROBE_PATHS
from bot.web.problems import problem

_OPEN_PATHS = frozenset({*PROBE_PATHS, METRICS_PATH})


@web.middleware
async def refuse_all_but_probes(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse what is not for this server, so that a platform or proxy sends it to another."""
    if request.path not in _OPEN_PATHS:
        raise problem(
            503,
            "This server answers what others take; it serves no pages and takes no messages.",
            cure="Send it to a server with FRONTDESK_ROLE=accept or all.",
        )
    return await handler(request)
