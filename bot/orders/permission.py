"""Who may change what is indexed and set by command: those that a platform's setting names."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bot.orders.ports import KnowsGroups
from bot.orders.types import Admins
from bot.types import Person


def admins_of(names: Iterable[str], *, setting: str, is_group: Callable[[str], bool]) -> Admins:
    """Sort the names of a setting: addresses, groups as ``is_group`` tells them, people's ids."""
    given = frozenset(name.strip() for name in names if name.strip())
    emails = frozenset(name for name in given if "@" in name)
    groups = frozenset(name for name in given - emails if is_group(name))
    return Admins(
        setting=setting,
        ids=given - emails - groups,
        groups=groups,
        emails=frozenset(name.casefold() for name in emails),
    )


async def may_order(person: Person, admins: Admins, groups: KnowsGroups | None = None) -> bool:
    """Tell whether somebody is named, or in a group that is; an address counts if verified.

    Raises bot.errors.DeliveryFailed while a membership can't be asked, and nothing else lets in.
    """
    if person.id in admins.ids:
        return True
    if person.email is not None and person.email.casefold() in admins.emails:
        return True
    if any(f"group:{group}" in person.principals for group in admins.groups):
        return True
    if groups is None:
        return False
    for group in sorted(admins.groups):
        if await groups.in_group(person.id, group):
            return True
    return False


def refusal(admins: Admins) -> str:
    """Say to somebody who is not named why they may not, and who can change that."""
    if not admins.named:
        return (
            f"Nobody may do this yet, for {admins.setting} names nobody. Whoever runs Frontdesk "
            "can set it."
        )
    return f"Only Frontdesk's admins may do this. Whoever runs it can add you to {admins.setting}."
