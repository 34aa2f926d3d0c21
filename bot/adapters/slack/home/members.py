"""One person as users.info tells of them, and whether they are a colleague: pure."""

from __future__ import annotations

from dataclasses import dataclass

from bot.adapters.slack.wire.events import Event, object_at, text_at
from bot.domain.types import Outsider, Person
from rag.types import EVERYONE, Principal

_LONGEST_NAME = 200
_SLACKBOT = "USLACKBOT"


@dataclass(frozen=True, slots=True)
class Home:
    """Where colleagues are: in a workspace or organisation, with addresses of these domains."""

    workspace: str
    domains: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Member:
    """Somebody that the workspace knows; ``email`` only if it is a colleague's, in small letters.

    ``display_name`` is what Slack shows in messages, "" where they chose none.
    ``colleague``: a full member of the home workspace, with an address of an allowed domain where
    these are named. Bots, guests, people of other organisations and who has left are none.
    ``outsider`` says what those are; the workspace's own bots are neither: a channel's settings say
    whether they are answered.
    """

    id: str
    name: str
    email: str | None
    colleague: bool
    outsider: Outsider = "not a colleague"
    display_name: str = ""

    @property
    def called(self) -> str:
        """Return what they are called in messages."""
        return self.display_name or self.name

    @property
    def person(self) -> Person:
        """Return them as an asker; principals are named as by signing in."""
        own = {Principal(f"user:{self.email}")} if self.email is not None else set()
        principals = frozenset({EVERYONE, *own})
        return Person(self.id, self.name, self.email, principals, self.outsider)


def unknown(user_id: str) -> Member:
    """Return somebody of whom Slack tells nothing."""
    return Member(user_id, "", None, colleague=False)


def own_bot(bot_id: str) -> Member:
    """Return a bot (B…), which speaks only where its app is installed."""
    return Member(bot_id, "", None, colleague=False, outsider="")


def member_of(user: Event, home: Home) -> Member:
    """Read what users.info tells of somebody."""
    email = _email(user)
    colleague = _is_full_member(user) and _is_at_home(user, home) and _is_allowed(email, home)
    return Member(
        id=text_at(user, "id"),
        name=_name(user),
        email=email if colleague else None,
        colleague=colleague,
        outsider="" if colleague else _outsider(user, home),
        display_name=_on_one_line(text_at(object_at(user, "profile"), "display_name")),
    )


def _outsider(user: Event, home: Home) -> Outsider:
    if user.get("is_stranger") or not _is_at_home(user, home):
        return "other company"
    if user.get("is_restricted") or user.get("is_ultra_restricted"):
        return "guest"
    return "" if user.get("is_bot") and not user.get("deleted") else "not a colleague"


def _is_full_member(user: Event) -> bool:
    left_out = ("deleted", "is_bot", "is_restricted", "is_ultra_restricted", "is_stranger")
    return not any(user.get(flag) for flag in left_out) and user.get("id") != _SLACKBOT


def _is_at_home(user: Event, home: Home) -> bool:
    organisation = text_at(object_at(user, "enterprise_user"), "enterprise_id")
    return home.workspace in {text_at(user, "team_id"), organisation} - {""}


def _is_allowed(email: str | None, home: Home) -> bool:
    if not home.domains:
        return True
    return email is not None and email.rpartition("@")[2] in home.domains


def _email(user: Event) -> str | None:
    """Return an address, unless Slack says that nobody has confirmed it."""
    email = text_at(object_at(user, "profile"), "email").strip().lower()
    name, _, domain = email.rpartition("@")
    confirmed = user.get("is_email_confirmed") is not False
    return email if name and domain and confirmed and not set(email) & set(" \t\n") else None


def _name(user: Event) -> str:
    profile = object_at(user, "profile")
    for name in (
        text_at(profile, "real_name"),
        text_at(user, "real_name"),
        text_at(profile, "display_name"),
        text_at(user, "name"),
    ):
        if name.strip():
            return _on_one_line(name)
    return ""


def _on_one_line(name: str) -> str:
    return " ".join(name.split())[:_LONGEST_NAME]
