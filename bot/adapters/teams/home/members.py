"""One person as the members API tells of them, and whether they are a colleague: pure."""

from __future__ import annotations

from dataclasses import dataclass

from bot.adapters.teams.wire.body import Body, name_of, text_at
from bot.domain.types import Outsider, Person
from rag.types import EVERYONE, Principal

_INVITED = frozenset({"guest", "anonymous"})
_EXTERNAL = "#ext#"


@dataclass(frozen=True, slots=True)
class Home:
    """Where colleagues are: in an Entra tenant, with principal names of these domains.

    ``tenant`` None is for development: whoever is in the playground is at home.
    """

    tenant: str | None
    domains: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Member:
    """Somebody in a conversation. ``person`` has an address and principals if a colleague.

    ``colleague``: a full member of the home tenant, with a user principal name of an allowed domain
    where these are named. Of everybody else ``person.outsider`` says what they are; a guest was
    invited from outside, or is in a meeting without an account.
    """

    person: Person
    colleague: bool = False


def unknown(person: Person) -> Member:
    """Return somebody of whom Teams tells nothing."""
    return Member(Person(person.id, person.name, outsider="not a colleague"))


def member_of(told: Body, home: Home) -> Member:
    """Read what the members API tells of somebody.

    ``email`` there is the mail address, which is whatever somebody typed: it vouches for nothing.
    """
    name = name_of(text_at(told, "name"))
    object_id = text_at(told, "aadObjectId") or text_at(told, "objectId")
    address = _principal_name(told, home)
    full = bool(object_id and address) and not _is_guest(told)
    if not (full and _is_at_home(told, home) and _is_allowed(address, home)):
        known_as = object_id or text_at(told, "id")
        return Member(Person(known_as, name, outsider=_outsider(told, home)))
    # Principals are named as by signing in.
    principals = frozenset({EVERYONE, Principal(f"user:{address}")})
    return Member(Person(object_id, name, address, principals), colleague=True)


def _outsider(told: Body, home: Home) -> Outsider:
    if _is_guest(told):
        return "guest"
    elsewhere = text_at(told, "tenantId") and not _is_at_home(told, home)
    return "other company" if elsewhere else "not a colleague"


def _is_guest(told: Body) -> bool:
    named = text_at(told, "userPrincipalName").lower()
    return text_at(told, "userRole").lower() in _INVITED or _EXTERNAL in named


def _is_at_home(told: Body, home: Home) -> bool:
    """Anonymous people have the organiser's tenant: this alone makes nobody a colleague."""
    return home.tenant is None or text_at(told, "tenantId").lower() == home.tenant.lower()


def _is_allowed(address: str, home: Home) -> bool:
    return not home.domains or address.rpartition("@")[2] in home.domains


def _principal_name(told: Body, home: Home) -> str:
    """Return the user principal name in small letters, "" for what can't be one."""
    named = text_at(told, "userPrincipalName")
    if home.tenant is None:
        # Microsoft's playground has spelled it so.
        named = named or text_at(told, "userPrincipleName")
    name, _, domain = named.strip().lower().rpartition("@")
    address = f"{name}@{domain}"
    return address if name and domain and not set(address) & set(" \t\r\n") else ""
