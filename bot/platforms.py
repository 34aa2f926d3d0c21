"""The chat platforms of this process: the built-in ones, and those that the settings name."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import Protocol, cast

from aiohttp import web

from bot.config import Settings
from bot.errors import SettingInvalid
from bot.office import Office
from bot.ports import Channel, Notes

PREFIX = "/platforms/"
"""Where third-party platforms have their endpoints; each checks its platform's signature itself."""

ENDPOINTS = frozenset({"/slack/events", "/api/messages"})


class Adapter(Protocol):
    """A package or module that joins a platform."""

    def connect(self, settings: Settings, notes: Notes) -> Channel:
        """Return the channel; nobody is called yet. Raises SettingInvalid."""
        ...

    def mount(self, app: web.Application, channel: Channel, office: Office) -> None:
        """Serve what the platform reports."""
        ...


def is_endpoint(path: str) -> bool:
    """Tell whether a path is a platform's own: its signature is the key, not ours."""
    return path in ENDPOINTS or path.startswith(PREFIX)


def adapters(settings: Settings) -> Iterator[Adapter]:
    """Load the adapters that are configured; the others are not imported. Raises SettingInvalid."""
    for name in _configured(settings):
        yield _load(name)


def _configured(settings: Settings) -> Sequence[str]:
    built_in = {
        "bot.adapters.slack": settings.slack_configured,
        "bot.adapters.teams": settings.teams_configured,
    }
    return [*(name for name, wanted in built_in.items() if wanted), *settings.adapters]


def _load(name: str) -> Adapter:
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        raise SettingInvalid(
            f"FRONTDESK_ADAPTERS names {name!r}, which can't be imported ({error}). Install the "
            "package into this environment, or correct the name."
        ) from error
    missing = [each for each in ("connect", "mount") if not callable(getattr(module, each, None))]
    if missing:
        raise SettingInvalid(
            f"FRONTDESK_ADAPTERS names {name!r}, which has no {' and no '.join(missing)}. An "
            "adapter has connect(settings, notes) and mount(app, channel, office): "
            "docs/adapters.md."
        )
    return cast("Adapter", module)
