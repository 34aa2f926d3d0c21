"""Types of commands, callers and results."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.domain.cases import expert_of
from bot.domain.messages import Person

InGroup = Callable[[str, str], Awaitable[bool]]
"""Returns whether a person (id) is in a user group (id) of the platform. Raises DeliveryFailed."""


@dataclass(frozen=True, slots=True)
class SpaceByName:
    """A space, by the name as typed."""

    name: str


@dataclass(frozen=True, slots=True)
class PageByUrl:
    """The single page at a URL."""

    url: str


@dataclass(frozen=True, slots=True)
class AllSpaces:
    """Every space whose source is known."""


Target = SpaceByName | PageByUrl | AllSpaces


@dataclass(frozen=True, slots=True)
class AskRequest:
    """Ask a question, answered like any other."""

    text: str


@dataclass(frozen=True, slots=True)
class HelpRequest:
    """Show the help text."""


@dataclass(frozen=True, slots=True)
class StatusRequest:
    """Show the status of Frontdesk and the age of its pages."""


@dataclass(frozen=True, slots=True)
class WhyRequest:
    """Explain why the last answer was given, or none."""


@dataclass(frozen=True, slots=True)
class SettingsRequest:
    """Show and edit the channel's settings."""


@dataclass(frozen=True, slots=True)
class ReindexRequest:
    """Update a target in the index; a dry run only reports what would change."""

    target: Target
    dry_run: bool = False
    allow_mass_delete: bool = False


@dataclass(frozen=True, slots=True)
class ReindexStatusRequest:
    """Show the progress of the runs."""


@dataclass(frozen=True, slots=True)
class ReindexCancelRequest:
    """Cancel a run by its space or id; None if only one is active."""

    target: str | None = None


@dataclass(frozen=True, slots=True)
class InvalidCommand:
    """A command that can't be parsed: ``text`` gives the error and the valid forms."""

    text: str


@dataclass(frozen=True, slots=True)
class ShareRequest:
    """Let others see the caller's questions, or stop that; None only asks which of them holds."""

    shares: bool | None = None


@dataclass(frozen=True, slots=True)
class DigestRequest:
    """Send the weekly digest here, or stop that; None only asks which of them holds."""

    wanted: bool | None = None


@dataclass(frozen=True, slots=True)
class MyCasesRequest:
    """List the caller's questions to people, and what they have as an expert."""


TextRequest = (
    HelpRequest
    | StatusRequest
    | MyCasesRequest
    | ReindexStatusRequest
    | ReindexCancelRequest
    | ShareRequest
    | DigestRequest
)
"""Commands whose only result is text."""

CommandRequest = TextRequest | AskRequest | WhyRequest | SettingsRequest | ReindexRequest


@dataclass(frozen=True, slots=True)
class CommandSyntax:
    """How commands are written on a platform: the prefixes, spaces included.

    ``alone`` is appended to a command whose reply others must not read, if replies are public.
    """

    command: str = ""
    reindex: str = "reindex"
    alone: str = ""

    def reindexing(self, *words: str) -> str:
        """Return a reindex command as typed."""
        return " ".join((self.reindex, *words))


@dataclass(frozen=True, slots=True)
class Admins:
    """The admins of a platform; empty if the setting names nobody.

    ``setting`` is the setting's name. ``groups`` are those whose membership is checked by request.
    """

    setting: str
    ids: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    emails: frozenset[str] = frozenset()

    @property
    def named(self) -> bool:
        """Return whether the setting names anybody."""
        return bool(self.ids or self.groups or self.emails)


@dataclass(frozen=True, slots=True)
class CommandCaller:
    """The person who runs a command, with the platform's command syntax.

    ``platform`` precedes the person's id in the audit log. ``admins`` are the platform's;
    ``in_group`` checks membership in admin groups that the person's principals don't include.
    ``alone``: nobody else reads the reply. Otherwise no page is named, as readers may lack access.
    ``channel`` is where the command was given, in the platform's own id; "" for a direct
    conversation.
    """

    person: Person
    platform: str
    admins: Admins
    spelling: CommandSyntax = CommandSyntax()
    in_group: InGroup | None = None
    alone: bool = True
    channel: str = ""

    @property
    def expert_id(self) -> str:
        """The id that the caller has as an expert (bot.domain.cases.expert_of)."""
        return expert_of(self.platform, self.person).id

    @property
    def actor(self) -> str:
        """The audit log's id of the caller, as in bot.domain.ports.Audits."""
        return f"{self.platform}:{self.person.id}"


@dataclass(frozen=True, slots=True)
class Refused:
    """A refused command; ``text`` tells the caller why and what to do.

    ``run_id`` is the conflicting run, or "".
    """

    text: str
    run_id: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a command, as plain text."""

    text: str


@dataclass(frozen=True, slots=True)
class Started:
    """A started run, to be followed by its id (bot.chat.commands.run_status)."""

    run_id: str
    text: str
