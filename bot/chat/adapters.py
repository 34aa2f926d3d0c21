"""Interface between the bot and its platform adapters: ChatContext, the adapter port and loading.

``ChatContext`` is built in bot.app and passed to every adapter (docs/adapters.md). ``NullNotes``
replaces the record's notes in processes without a record.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, cast

from aiohttp import web

from bot.answering.explanations.explainer import Explainer
from bot.answering.private_answers import PrivateAnswers
from bot.chat.answer_keeping import AnswerKeeping
from bot.chat.commands.executor import CommandExecutor
from bot.chat.documents import Documents, Reindex
from bot.chat.messages import ListeningPolicy
from bot.domain.errors import SettingInvalid
from bot.domain.health import CheckComponents
from bot.domain.messages import InteractionId
from bot.domain.ports import Audits, Channel, Directory, Inbox, Interactions, Notes, Policies
from bot.domain.settings import Settings
from bot.escalations.casework import Casework
from bot.learning.shadow_mode import DraftReview
from rag.personal_data.names import DirectoryNames


class NullNotes:
    """Store no notes. Implements bot.domain.ports.Notes."""

    async def get(self, tenant: str, key: str) -> str | None:  # noqa: ARG002 - the port names them
        return None

    async def put(
        self, tenant: str, key: str, text: str, *, interaction_id: InteractionId | None = None
    ) -> None:
        """Do nothing."""

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
        """Do nothing."""

    async def beginning(self, tenant: str, prefix: str) -> Mapping[str, str]:  # noqa: ARG002
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatContext:
    """Services that every platform adapter gets.

    Attributes:
        tenant: The company that is served.
        directory: Looks up what a colleague may read.
        inbox: Accepts questions.
        interactions: The record, to read and to rate.
        casework: Acts on escalations and builds their views.
        explainer: Explains why an answer was given, or none.
        private_answers: Returns the parts of an answer that only its asker may read.
        listening: Decides which messages that do not address the bot are accepted.
        policies: Policies of channels.
        notes: Notes of an adapter, shared by all processes.
        audits: The audit log of admins' acts.
        documents: The indexed documents.
        reindexing: Starts and cancels index runs.
        commands: Executes commands.
        check_parts: Returns the status of every component.
        drafts: Takes reviewers' verdicts on drafts.
        keeping: Keeps experts' answers of cases for others.
        names: Learns the names of people whom the platform tells of, which are masked for models
            elsewhere; None where nothing is masked, so that nobody has to be listed for it.
    """

    tenant: str
    directory: Directory
    inbox: Inbox
    interactions: Interactions
    casework: Casework
    explainer: Explainer
    private_answers: PrivateAnswers
    listening: ListeningPolicy
    policies: Policies
    notes: Notes
    audits: Audits
    documents: Documents
    reindexing: Reindex
    commands: CommandExecutor
    check_parts: CheckComponents
    drafts: DraftReview
    keeping: AnswerKeeping
    names: DirectoryNames | None = None


PLATFORM_PREFIX = "/platforms/"
"""Path prefix of third-party platforms' endpoints; each checks its platform's signature itself."""

PLATFORM_ENDPOINTS = frozenset({"/slack/events", "/api/messages"})


class Adapter(Protocol):
    """A package or module that connects a platform."""

    def connect(self, settings: Settings, notes: Notes) -> Channel:
        """Return the channel without making a request. Raises SettingInvalid."""
        ...

    def mount(self, app: web.Application, channel: Channel, context: ChatContext) -> None:
        """Add the routes that receive the platform's events."""
        ...


def is_platform_endpoint(path: str) -> bool:
    """Return whether a path is a platform's endpoint, authenticated by the platform's signature."""
    return path in PLATFORM_ENDPOINTS or path.startswith(PLATFORM_PREFIX)


_LARGEST_BODY = 1_000_000
_CHUNK = 65_536


async def read_request_body(request: web.Request) -> bytes:
    """Return the body of a platform's request. Raises HTTPRequestEntityTooLarge above 1 MB."""
    body = bytearray()
    async for chunk in request.content.iter_chunked(_CHUNK):
        body += chunk
        if len(body) > _LARGEST_BODY:
            raise web.HTTPRequestEntityTooLarge(_LARGEST_BODY, len(body))
    return bytes(body)


def load_adapters(settings: Settings) -> Iterator[Adapter]:
    """Import and yield the configured adapters; others are not imported. Raises SettingInvalid."""
    if settings.slack_configured:
        yield _load("bot.platforms.slack")
    if settings.teams_configured:
        yield _load("bot.platforms.teams")
    yield from map(_load, settings.adapters)


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
            "adapter has connect(settings, notes) and mount(app, channel, context): "
            "docs/adapters.md."
        )
    return cast("Adapter", module)
