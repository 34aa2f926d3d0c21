"""Interface between the bot and its platform adapters: what each gets, and how they are loaded.

``ChatContext`` is joined in bot.app and given to every adapter (docs/adapters.md). ``NullNotes``
stands in for the record's notes in processes that have no record.
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from aiohttp import web

from bot.answering.explanations.explainer import Explainer
from bot.answering.permitted_views import PrivateAnswers
from bot.chat.commands.executor import CommandExecutor
from bot.chat.documents import Documents, Reindex
from bot.domain.errors import SettingInvalid
from bot.domain.health import ComponentStatus
from bot.domain.messages import InteractionId, Message
from bot.domain.ports import Audits, Channel, Directory, Inbox, Interactions, KeepsPolicies, Notes
from bot.domain.settings import Settings
from bot.escalations.casework import Casework


class NullNotes:
    """Implements bot.domain.ports.Notes; everything is new to it."""

    async def get(self, tenant: str, key: str) -> str | None:  # noqa: ARG002 - the port names them
        return None

    async def put(
        self, tenant: str, key: str, text: str, *, interaction_id: InteractionId | None = None
    ) -> None:
        """Keep nothing."""

    async def first(
        self,
        tenant: str,  # noqa: ARG002 - the port names them
        key: str,  # noqa: ARG002
        text: str = "",  # noqa: ARG002
        *,
        interaction_id: InteractionId | None = None,  # noqa: ARG002
    ) -> bool:
        return True

    async def remove(self, tenant: str, key: str) -> None:
        """Have nothing to remove."""

    async def beginning(self, tenant: str, prefix: str) -> Mapping[str, str]:  # noqa: ARG002
        return {}


class HearsMessages(Protocol):
    """Decides which messages that nobody addressed to the bot are taken. Raises StoreUnavailable.

    By the channel's policy: questions without a mention, follow-ups in a thread that the bot is in.
    """

    async def hears(self, message: Message, *, begins: bool) -> bool:
        """Tell whether to take a message; ``begins``: it is the first of its thread."""
        ...

    async def hears_bots(self, tenant: str, channel: str) -> bool:
        """Tell whether other bots may ask in a channel, ``platform:channel``."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatContext:
    """What stands behind every platform.

    Attributes:
        tenant: The company that is served.
        directory: What a colleague may read.
        inbox: Where questions go.
        interactions: The record, to read and to judge.
        casework: What is done about escalations, and how they are shown.
        explaining: Why an answer, or none.
        fuller: What only an asker may read of an answer.
        hearing: Which messages are taken that are not addressed to the bot.
        policies: What single channels allow.
        notes: What an adapter remembers for all processes.
        audits: What admins did.
        documents: What is indexed.
        reindexing: How it gets there.
        orders: What is ordered by command.
        check_parts: The state of every part.
    """

    tenant: str
    directory: Directory
    inbox: Inbox
    interactions: Interactions
    casework: Casework
    explaining: Explainer
    fuller: PrivateAnswers
    hearing: HearsMessages
    policies: KeepsPolicies
    notes: Notes
    audits: Audits
    documents: Documents
    reindexing: Reindex
    orders: CommandExecutor
    check_parts: Callable[[], Awaitable[Sequence[ComponentStatus]]]


PLATFORM_PREFIX = "/platforms/"
"""Where third-party platforms have their endpoints; each checks its platform's signature itself."""

PLATFORM_ENDPOINTS = frozenset({"/slack/events", "/api/messages"})


class Adapter(Protocol):
    """A package or module that joins a platform."""

    def connect(self, settings: Settings, notes: Notes) -> Channel:
        """Return the channel; nobody is called yet. Raises SettingInvalid."""
        ...

    def mount(self, app: web.Application, channel: Channel, office: ChatContext) -> None:
        """Serve what the platform reports."""
        ...


def is_platform_endpoint(path: str) -> bool:
    """Tell whether a path is a platform's own: its signature is the key, not ours."""
    return path in PLATFORM_ENDPOINTS or path.startswith(PLATFORM_PREFIX)


def load_adapters(settings: Settings) -> Iterator[Adapter]:
    """Load the adapters that are configured; the others are not imported. Raises SettingInvalid."""
    for name in _configured(settings):
        yield _load(name)


def _configured(settings: Settings) -> Sequence[str]:
    built_in = {
        "bot.platforms.slack": settings.slack_configured,
        "bot.platforms.teams": settings.teams_configured,
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
