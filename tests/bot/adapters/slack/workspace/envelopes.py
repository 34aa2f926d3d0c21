"""Events in their envelopes, and sending them once, often, late or in disorder."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

from tests.bot.adapters.slack.events import envelope
from tests.bot.adapters.slack.workspace import happenings, names
from tests.bot.adapters.slack.workspace.answers import Answer, Door, Json
from tests.bot.adapters.slack.workspace.posts import Post
from tests.bot.adapters.slack.workspace.state import Workspace


def enclosed(slack: Workspace, user: str, channel: str, events: Sequence[Json]) -> list[Json]:
    """Return events as Slack sends them; those of another workspace's people come from there."""
    context = {
        "is_ext_shared_channel": slack.rooms[channel].is_ext_shared,
        "team_id": slack.people[user].team_id,
        "context_team_id": names.TEAM,
    }
    return [envelope(event, event_id=slack.next_event_id(), **context) for event in events]


async def deliver(
    door: Door,
    envelopes: Sequence[Json],
    *,
    times: int = 1,
    shuffled: random.Random | None = None,
    at_once: bool = False,
) -> list[Answer]:
    """Send each envelope so often, in the order given or in any, one by one or all at once."""
    copies = [(one, attempt) for attempt in range(times) for one in envelopes]
    if shuffled:
        shuffled.shuffle(copies)
    if at_once:
        return await asyncio.gather(*(door.event(one, attempt=number) for one, number in copies))
    return [await door.event(one, attempt=number) for one, number in copies]


async def echo(door: Door, slack: Workspace, post: Post) -> list[Answer]:
    """Send the bot what it wrote itself, as Slack does where message events are subscribed."""
    events = happenings.said(slack, post)
    return await deliver(door, enclosed(slack, post.user, post.channel, events))
