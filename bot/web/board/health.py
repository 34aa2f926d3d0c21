"""Board page of system health: components with cures, endpoint addresses, server facts."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol, runtime_checkable
from urllib.parse import urlsplit

from aiohttp import web

from bot import __version__
from bot.domain.errors import BotError
from bot.domain.health import CheckComponents, ComponentStatus
from bot.domain.settings import Settings
from bot.domain.texts import changed, join_texts, tr, trn
from bot.domain.texts.dates import duration
from bot.web.auth.code_flow import CALLBACK_PATH
from bot.web.auth.identity import require_role
from bot.web.board.layout import render_page, utc_now

PATH = "/board/parts"
_CHECK_SECONDS = 15.0
_COMMAND = re.compile(r"(?:python -m |make )\S.*$")

_WORD = re.compile(r"[a-z]+[ .,:]")

NAMES: Mapping[str, str] = {
    "knowledge": tr("knowledge"),
    "embedder": tr("embedder"),
    "model": tr("model"),
    "calibration": tr("calibration"),
    "doors": tr("doors"),
    "limits": tr("limits"),
    "tracing": tr("tracing"),
    "inbox": tr("inbox"),
}
"""Of components that are not called by a product's name, as `doctor` and /healthz say them."""

_MODEL = "model "

_STATES: Mapping[str, str] = {
    "failed": tr("Failed"),
    "paused": tr("Paused"),
    "limited": tr("Limited"),
    "ready": tr("Working"),
    "absent": tr("Not set up"),
}
"""State labels, in the order in which components are listed."""


@runtime_checkable
class ChecksPlatform(Protocol):
    """Optional capability of a channel: check the connection to its platform."""

    async def check(self) -> ComponentStatus:
        """Call the platform and return its status. Raises bot.domain.errors.BotError."""
        ...


@dataclass(frozen=True, slots=True)
class ComponentView:
    """A component as shown; ``command`` is the copyable command of its cure, if it has one.

    ``id`` is its name in `doctor` and in the docs, whatever the page's language.
    """

    id: str
    name: str
    state: str
    words: str
    detail: str
    cure: str
    command: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address of this server that is entered in a platform's configuration."""

    where: str
    address: str


class HealthPage:
    """Handlers that show and check the components; ``platforms`` may be ChecksPlatform."""

    def __init__(
        self,
        *,
        check_parts: CheckComponents,
        platforms: Sequence[object],
        settings: Settings,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._check_parts = check_parts
        self._platforms = [each for each in platforms if isinstance(each, ChecksPlatform)]
        self._settings = settings
        self._clock = clock
        self._began = clock()

    async def page(self, request: web.Request) -> web.Response:
        """Show the components' status without calling the platforms."""
        require_role(request, "expert")
        return self._render(request, await self._check_parts(), asked=False)

    async def check(self, request: web.Request) -> web.Response:
        """Show the components' status after calling the platforms, too."""
        require_role(request, "expert")
        parts = await self._check_parts()
        checked = await asyncio.gather(*(_check_platform(each) for each in self._platforms))
        fresh = {part.name: part for part in checked}
        seen = [fresh.pop(part.name, part) for part in parts]
        return self._render(request, [*seen, *fresh.values()], asked=True)

    def _render(
        self, request: web.Request, parts: Sequence[ComponentStatus], *, asked: bool
    ) -> web.Response:
        at = self._clock()
        context = {
            "parts": [component_view(part) for part in _worst_first(parts)],
            "words": _summary(parts),
            "checked_at": at,
            "asked": asked,
            "platforms": len(self._platforms),
            "endpoints": list(_endpoints(self._settings)),
            "public": self._settings.public_url,
            "facts": _server_facts(self._settings, _port(request), at - self._began),
        }
        return render_page(request, "board/parts.html", context)


def component_view(part: ComponentStatus) -> ComponentView:
    """Return a component in words; a command at the end of its cure becomes ``command``."""
    found = _COMMAND.search(part.cure)
    command = found.group() if found else ""
    cure = part.cure.removesuffix(command).rstrip() if command else part.cure
    detail = changed(part.detail, _sentence)
    name, state = component_name(part.name), _STATES[part.state]
    return ComponentView(part.name, name, part.state, state, detail, cure, command)


def component_name(name: str) -> str:
    """Return the name of a component, such as one of the models that are named, for display."""
    if name.startswith(_MODEL):
        return tr("model {name}", name=name.removeprefix(_MODEL))
    return NAMES.get(name, name)


def _sentence(text: str) -> str:
    """Capitalise a sentence, unless its first word is a name such as ``all-MiniLM``."""
    return text[:1].upper() + text[1:] if _WORD.match(text) else text


async def _check_platform(platform: ChecksPlatform) -> ComponentStatus:
    name = str(getattr(platform, "platform", "platform")).capitalize()
    try:
        async with asyncio.timeout(_CHECK_SECONDS):
            return await platform.check()
    except BotError as error:
        return ComponentStatus(name, "failed", str(error))
    except TimeoutError:
        late = f"no answer within {_CHECK_SECONDS:.0f} seconds."
        cure = "Make sure that this server can reach it, then check again."
        return ComponentStatus(name, "failed", late, cure)


def _worst_first(parts: Sequence[ComponentStatus]) -> Sequence[ComponentStatus]:
    order = list(_STATES)
    return sorted(parts, key=lambda part: order.index(part.state))


def _summary(parts: Sequence[ComponentStatus]) -> str:
    broken = [component_name(part.name) for part in parts if part.state == "failed"]
    if broken:
        return trn(
            "{n} component has failed: {names}.",
            "{n} components have failed: {names}.",
            len(broken),
            names=join_texts(", ", broken),
        )
    working = tr("Everything that is set up is working.")
    absent = sum(part.state == "absent" for part in parts)
    if not absent:
        return working
    rest = trn("{n} component is not set up.", "{n} components are not set up.", absent)
    return join_texts(" ", (working, rest))


def _endpoints(settings: Settings) -> Iterator[Endpoint]:
    """Yield the addresses to enter; only the path where the public address is not set."""
    public = settings.public_url or ""
    if settings.slack_configured and settings.slack_transport == "http":
        yield Endpoint(tr("Slack: all addresses in the manifest"), f"{public}/slack/events")
    if settings.microsoft_app_id is not None:
        yield Endpoint(tr("Azure Bot: Configuration, Messaging endpoint"), f"{public}/api/messages")
    if settings.oidc_issuer is not None:
        yield Endpoint(
            tr("Entra or another identity provider: Redirect URI"), f"{public}{CALLBACK_PATH}"
        )


def _port(request: web.Request) -> str:
    """Return the port that the server listens on; the setting may be 0 (any free port)."""
    own = request.transport.get_extra_info("sockname") if request.transport else None
    return str(own[1]) if isinstance(own, tuple) else "?"


def _server_facts(settings: Settings, port: str, up: timedelta) -> Sequence[tuple[str, str]]:
    return [
        (tr("Version"), __version__),
        (tr("Uptime"), duration(up.total_seconds())),
        (tr("Public address"), settings.public_url or tr("PUBLIC_URL is not set")),
        (tr("Listening on"), tr("{host}, port {port}", host=settings.host, port=port)),
        (tr("Data directory"), str(settings.data_dir.absolute())),
        (tr("Database"), _database_name(settings)),
        (tr("Company (tenant)"), settings.tenant),
    ]


def _database_name(settings: Settings) -> str:
    """Return the database's name without user, password or options."""
    if settings.database_url is None:
        return tr("SQLite, frontdesk.sqlite in the data directory")
    url = urlsplit(settings.database_url.get_secret_value())
    name, host = url.path.strip("/"), url.hostname or tr("a socket")
    return tr("PostgreSQL, database “{name}” at {host}", name=name, host=host)
