"""Commands, who gives them, their results, and what they need from ingestion and platforms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bot.chat.documents import Document, Run, SeenBy, Space
from bot.domain.messages import Person


class KnowsGroups(Protocol):
    """A platform's groups. Raises bot.domain.errors.DeliveryFailed while it can't be asked."""

    async def in_group(self, person_id: str, group_id: str) -> bool: ...


class KnowsSpaces(Protocol):
    """What is indexed. Raises bot.domain.errors.StoreUnavailable."""

    async def spaces(self, seen_by: SeenBy) -> Sequence[Space]: ...

    async def at(self, urls: Sequence[str], seen_by: SeenBy) -> Document | None:
        """Return the document at the first of these addresses that has one."""
        ...


class FindsSpaces(Protocol):
    """Where pages come from. Raises bot.domain.errors.DocumentRefused while that can't be asked."""

    async def find_space(self, url: str) -> str | None:
        """Return the space of the page at an address, indexed or not; None for none of ours."""
        ...


class FollowsRuns(Protocol):
    """Runs of all processes. Raises bot.domain.errors.StoreUnavailable."""

    async def get(self, run_id: str) -> Run | None: ...


@dataclass(frozen=True, slots=True)
class SpaceByName:
    """A space, as somebody wrote its name."""

    name: str


@dataclass(frozen=True, slots=True)
class PageByUrl:
    """The page at an address, alone."""

    url: str


@dataclass(frozen=True, slots=True)
class AllSpaces:
    """Every space of which it is known what fills it."""


Target = SpaceByName | PageByUrl | AllSpaces


@dataclass(frozen=True, slots=True)
class AskRequest:
    """A question, to be answered as any other."""

    text: str


@dataclass(frozen=True, slots=True)
class HelpRequest:
    """What one can say here."""


@dataclass(frozen=True, slots=True)
class StatusRequest:
    """What is ready, and how fresh it is."""


@dataclass(frozen=True, slots=True)
class WhyRequest:
    """Why the last answer was given, or none."""


@dataclass(frozen=True, slots=True)
class SettingsRequest:
    """What this channel allows, to be looked at and changed."""


@dataclass(frozen=True, slots=True)
class ReindexRequest:
    """Bring a target up to date; a dry run only says what would be done."""

    target: Target
    dry_run: bool = False
    allow_mass_delete: bool = False


@dataclass(frozen=True, slots=True)
class ReindexStatusRequest:
    """How far the runs are."""


@dataclass(frozen=True, slots=True)
class ReindexCancelRequest:
    """Stop a run: the one over a space or of an id; None where there is but one."""

    target: str | None = None


@dataclass(frozen=True, slots=True)
class InvalidCommand:
    """An order that can't be read: ``text`` says what was wrong with it, and what can be said."""

    text: str


TextRequest = HelpRequest | StatusRequest | ReindexStatusRequest | ReindexCancelRequest
"""What is answered in words, and by nothing else."""

CommandRequest = TextRequest | AskRequest | WhyRequest | SettingsRequest | ReindexRequest


@dataclass(frozen=True, slots=True)
class CommandSyntax:
    """How a platform's people write commands: what goes before the word, spaces included.

    ``alone`` goes after what others shall not read the answer to, where answers are not whispered.
    """

    command: str = ""
    reindex: str = "reindex"
    alone: str = ""

    def reindexing(self, *words: str) -> str:
        """Return a reindex command as one types it."""
        return " ".join((self.reindex, *words))


@dataclass(frozen=True, slots=True)
class Admins:
    """Who may change what is indexed and set; nobody where none is named.

    ``setting`` names the setting they are in. ``groups`` are those of which membership is asked.
    """

    setting: str
    ids: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    emails: frozenset[str] = frozenset()

    @property
    def named(self) -> bool:
        """Whether anybody is named at all."""
        return bool(self.ids or self.groups or self.emails)


@dataclass(frozen=True, slots=True)
class CommandCaller:
    """Who orders, and how they write it.

    ``platform`` is where, as the audit names it before their id. ``admins`` are the platform's,
    and ``groups`` tells who is in those of their groups that the person's principals don't name.
    ``alone``: nobody else reads what is answered. Else no page is named, as not all may know of it.
    """

    person: Person
    platform: str
    admins: Admins
    spelling: CommandSyntax = CommandSyntax()
    groups: KnowsGroups | None = None
    alone: bool = True

    @property
    def actor(self) -> str:
        """Who did it, as in bot.domain.ports.Audits."""
        return f"{self.platform}:{self.person.id}"


@dataclass(frozen=True, slots=True)
class Refused:
    """What can't be done; ``text`` is for who ordered it, and says what they can do.

    ``run_id`` is the run that is in the way, or "".
    """

    text: str
    run_id: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    """What was done or is to be told, as plain text."""

    text: str


@dataclass(frozen=True, slots=True)
class Started:
    """A run that was begun, to be followed by its id (bot.chat.commands.run_status)."""

    run_id: str
    text: str
