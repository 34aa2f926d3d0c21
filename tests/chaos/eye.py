"""Sees what an asker sees, and remembers when it appeared."""

from __future__ import annotations

import asyncio

from tests.bot.adapters.slack.server import FakeSlack
from tests.bot.adapters.slack.workspace.posts import Post
from tests.chaos.timeline import Timeline
from tests.chaos.verdict import Seen

GLANCE_SECONDS = 0.02
"""How exactly the moment is known at which a post appeared."""


class Eye:
    """Sees every message that the bot leaves in a workspace, and when."""

    def __init__(self, slack: FakeSlack, timeline: Timeline) -> None:
        self._slack = slack
        self._timeline = timeline
        self._times: dict[int, float] = {}

    async def watch(self) -> None:
        """Look until cancelled."""
        while True:
            self._glance()
            await asyncio.sleep(GLANCE_SECONDS)

    def seen(self) -> list[Seen]:
        """Return what stands in the channels now, in the order in which it appeared."""
        self._glance()
        return [_seen(post, self._times[id(post)]) for post in self._slack.posts]

    def _glance(self) -> None:
        for post in self._slack.posts[len(self._times) :]:
            self._times[id(post)] = self._timeline.now()


def _seen(post: Post, at: float) -> Seen:
    metadata = post.payload.get("metadata") or {}
    names = str(metadata.get("event_payload", {}).get("interaction_id", ""))
    return Seen(at, post.channel, post.thread_ts, post.shown, post.only_for, names)
