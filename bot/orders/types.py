"""What can be ordered, by whom, and what is answered; all frozen."""

from __future__ import annotations

from dataclasses import dataclass

from bot.orders.ports import KnowsGroups
from bot.types import Person


@dataclass(frozen=True, slots=True)
class SpaceNamed:
    """A space, as somebody wrote its name."""

    name: str


@dataclass(frozen=True, slots=True)
class PageAt:
    """The page at an address, alone."""

    url: str


@dataclass(frozen=True, slots=True)
class Everything:
    """Every space of which it is known what fills it."""


Target = SpaceNamed | PageAt | Everything


@dataclass(frozen=True, slots=True)
class Ask:
    """A question, to be answered as any other."""

    text: str


@dataclass(frozen=True, slots=True)
class Help:
    """What one can say here."""


@dataclass(frozen=True, slots=True)
class Status:
    """What is ready, and how fresh it is."""


@dataclass(frozen=True, slots=True)
class Why:
    """Why the last answer was given, or none."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What this channel allows, to be looked at and changed."""


@dataclass(frozen=True, slots=True)
class ReindexOrder:
    """Bring a target up to date; a dry run only says what would be done."""

    target: Target
    dry_run: bool = False
    allow_mass_delete: bool = False


@dataclass(frozen=True, slots=True)
class ReindexStatus:
    """How far the runs are."""


@dataclass(frozen=True, slots=True)
class ReindexCancel:
    """Stop a run: the one over a space or of an id; None where there is but one."""

    target: str | None = None


@dataclass(frozen=True, slots=True)
class Misunderstood:
    """An order that can't be read: ``text`` says what was wrong with it, and what can be said."""

    text: str


Asked = Help | Status | ReindexStatus | ReindexCancel
"""What is answered in words, and by nothing else."""

Order = Asked | Ask | Why | Settings | ReindexOrder


@dataclass(frozen=True, slots=True)
class Spelling:
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
class Orderer:
    """Who orders, and how they write it.

    ``platform`` is where, as the audit names it before their id. ``admins`` are the platform's,
    and ``groups`` tells who is in those of their groups that the person's principals don't name.
    ``alone``: nobody else reads what is answered. Else no page is named, as not all may know of it.
    """

    person: Person
    platform: str
    admins: Admins
    spelling: Spelling = Spelling()
    groups: KnowsGroups | None = None
    alone: bool = True

    @property
    def actor(self) -> str:
        """Who did it, as in bot.ports.Audits."""
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
    """A run that was begun, to be followed by its id (bot.orders.watching)."""

    run_id: str
    text: str
