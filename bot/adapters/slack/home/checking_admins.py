"""Whether those whom SLACK_ADMINS names are there, and may do what it lets them."""

from __future__ import annotations

from collections.abc import Sequence

from bot.adapters.slack.calling.errors import NeverPermitted, NotPermitted
from bot.adapters.slack.home.identity import Colleagues
from bot.domain.errors import DeliveryFailed
from bot.domain.health import ComponentStatus

_NAME = "Slack admins"
_CURE = "Correct SLACK_ADMINS: U… of a person, S… of a user group, or an e-mail address."


async def admins_part(names: Sequence[str], colleagues: Colleagues) -> ComponentStatus:
    """Look each of them up."""
    if not names:
        cure = "Set SLACK_ADMINS."
        return ComponentStatus(
            _NAME, "absent", "nobody may reindex or change settings in Slack.", cure
        )
    try:
        found = [(name, await _trouble(name, colleagues)) for name in names]
    except DeliveryFailed as error:
        return ComponentStatus(_NAME, "failed", str(error))
    wrong = [f"{name} {trouble}" for name, trouble in found if trouble]
    if wrong:
        return ComponentStatus(_NAME, "failed", f"{'; '.join(wrong)}.", _CURE)
    return ComponentStatus(_NAME, "ready", ", ".join(names))


async def _trouble(name: str, colleagues: Colleagues) -> str:
    """Return why somebody named can't order, "" when they can. Raises DeliveryFailed."""
    if "@" in name:
        return "" if await colleagues.addressed(name) else "is no colleague's address"
    if not name.startswith("S"):
        return "" if await colleagues.of(name) else "is no colleague here"
    try:
        return "" if await colleagues.has_members(name) else "has no members"
    except (NotPermitted, NeverPermitted) as error:
        return f"can't be read ({error.code})"
