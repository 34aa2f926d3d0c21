"""Lists, sets and clears what single channels are answered from."""

from __future__ import annotations

import argparse

from bot.commands.pausing import operator
from bot.config import Settings
from bot.records.sums import PolicyRecord
from bot.store import Store, database_url, open_store
from bot.types import Policy


async def channels(settings: Settings, options: argparse.Namespace) -> int:
    """List the policies, set one, or clear one."""
    store = await open_store(database_url(settings))
    try:
        match options.act:
            case "set":
                await _set(store, settings, options.channel, options.spaces)
            case "clear":
                await _clear(store, settings, options.channel)
            case _:
                await _list(store, settings)
    finally:
        await store.close()
    return 0


async def _set(store: Store, settings: Settings, channel: str, spaces: frozenset[str]) -> None:
    await store.policies.set(settings.tenant, channel, Policy(spaces), actor=operator())
    print(f"{channel} is answered from {_names(spaces)} alone, from the next question on.")
    shut = spaces - settings.index_spaces if settings.index_spaces is not None else frozenset()
    if shut:
        print(f"FRONTDESK_SPACES leaves {_names(shut)} out everywhere; a channel can't add it.")


async def _clear(store: Store, settings: Settings, channel: str) -> None:
    had = await store.policies.remove(settings.tenant, channel, actor=operator())
    print(
        f"{channel} is answered as every other." if had else f"{channel} had no spaces of its own."
    )


async def _list(store: Store, settings: Settings) -> None:
    kept = await store.policies.all(settings.tenant)
    for each in kept:
        print(_line(each))
    if not kept:
        print("No channel has spaces of its own. python -m bot channels set slack:C123 --spaces IT")


def _line(kept: PolicyRecord) -> str:
    when = kept.changed_at.strftime("%Y-%m-%d %H:%M")
    spaces = "all" if kept.policy.spaces is None else _names(kept.policy.spaces)
    return f"{kept.channel}  {spaces}  (by {kept.changed_by}, {when})"


def _names(spaces: frozenset[str]) -> str:
    return ", ".join(sorted(spaces))
