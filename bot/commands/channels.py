"""Lists, sets and clears what holds in single channels."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace

from bot.chat.commands.channel_settings import policy_differences, policy_in_words
from bot.commands.arguments import ALL_SPACES
from bot.commands.pausing import operator
from bot.domain.errors import SettingInvalid
from bot.domain.record_reports import PolicyRecord
from bot.domain.settings import Settings
from bot.domain.types import NO_MODEL, Policy
from bot.store.store import Store, database_url, open_store

_FIELDS = ("spaces", "answers", "follow_ups", "people", "model", "other_bots")


async def channels(settings: Settings, options: argparse.Namespace) -> int:
    """List the policies, change one, or clear one."""
    store = await open_store(database_url(settings))
    try:
        match options.act:
            case "set":
                await _set(store, settings, options)
            case "clear":
                await _clear(store, settings, options.channel)
            case _:
                await _list(store, settings)
    finally:
        await store.close()
    return 0


async def _set(store: Store, settings: Settings, options: argparse.Namespace) -> None:
    channel = options.channel
    before = await store.policies.of(settings.tenant, channel) or Policy()
    after = changed(before, options)
    await store.policies.set(settings.tenant, channel, after, actor=operator())
    print(f"{channel}, from the next message on:")
    for name, words in policy_in_words(after):
        print(f"  {name:<10}  {words}")
    for warning in _warnings(settings, after):
        print(warning)


def changed(policy: Policy, options: argparse.Namespace) -> Policy:
    """Return a policy with what the options name. Raises SettingInvalid when they name nothing."""
    given = {name: getattr(options, name) for name in _FIELDS}
    given = {name: value for name, value in given.items() if value is not None}
    if not given:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in _FIELDS)
        raise SettingInvalid(f"Nothing is changed. Say what to set: {flags}.")
    if given.get("spaces") == ALL_SPACES:
        given["spaces"] = None
    return replace(policy, **given)


def _warnings(settings: Settings, policy: Policy) -> Iterator[str]:
    everywhere, spaces = settings.index_spaces, policy.spaces or frozenset()
    shut = spaces - everywhere if everywhere is not None else frozenset()
    if shut:
        names = ", ".join(sorted(shut))
        yield f"FRONTDESK_SPACES leaves {names} out everywhere; a channel can't add it."
    known = {"", NO_MODEL, settings.openai_model, *settings.openai_channel_models}
    if policy.model not in known:
        yield (
            f"OPENAI_CHANNEL_MODELS does not name {policy.model!r}; until it does, the configured "
            "model answers there."
        )


async def _clear(store: Store, settings: Settings, channel: str) -> None:
    had = await store.policies.remove(settings.tenant, channel, actor=operator())
    print(
        f"{channel} is answered as every other." if had else f"{channel} had no policy of its own."
    )


async def _list(store: Store, settings: Settings) -> None:
    kept = await store.policies.all(settings.tenant)
    for each in kept:
        print(_line(each))
    if not kept:
        print(
            "No channel has a policy of its own. python -m bot channels set slack:C123 --spaces IT"
        )


def _line(kept: PolicyRecord) -> str:
    when = kept.changed_at.strftime("%Y-%m-%d %H:%M")
    return f"{kept.channel}  {'; '.join(policy_differences(kept.policy))}  (by {kept.changed_by}, {when})"
