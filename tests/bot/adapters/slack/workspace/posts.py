"""A message as it is in a channel, and as Slack's lists and events show it."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.bot.adapters.slack.blocks import block_text, labels_of, parts_of
from tests.bot.adapters.slack.workspace import names

_TOLD = ("files", "subtype", "bot_id")


@dataclass
class Post:
    """A message as it is in a channel.

    ``user`` wrote it; ``only_for`` alone sees it. ``reactions`` holds who gave which. ``edited``
    is the ts of the last edit, ``values`` what was chosen in its menus.
    """

    channel: str
    ts: str
    thread_ts: str | None
    payload: Mapping[str, Any]
    user: str = names.BOT_USER
    only_for: str | None = None
    reactions: dict[str, list[str]] = field(default_factory=dict)
    edited: str | None = None
    values: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def part(self) -> str:
        """Which part of a reply it says it is, "" when it says nothing."""
        payload = (self.payload.get("metadata") or {}).get("event_payload") or {}
        return str(payload.get("part", ""))

    @property
    def raw(self) -> str:
        """Everything that Slack was given to show."""
        written = [block_text(block) for block in self.blocks]
        return "\n".join(filter(None, written)) or str(self.payload.get("text", ""))

    @property
    def shown(self) -> str:
        """What a person reads: the blocks, or the text where there are none."""
        return html.unescape(self.raw)

    @property
    def blocks(self) -> list[dict[str, Any]]:
        return list(self.payload.get("blocks") or [])

    @property
    def labels(self) -> list[str]:
        """What is written on its buttons and menus, in order."""
        parts = [part for block in self.blocks for part in parts_of(block)]
        return [html.unescape(label) for part in parts for label in labels_of(part)]

    @property
    def by_bot(self) -> bool:
        return self.user == names.BOT_USER

    def told(self, *, with_metadata: bool = False) -> dict[str, Any]:
        """Return it as lists and events show it."""
        shown: dict[str, Any] = {
            "type": "message",
            "user": self.user,
            "text": self.payload.get("text", ""),
            "ts": self.ts,
        }
        if self.thread_ts:
            shown["thread_ts"] = self.thread_ts
        if self.by_bot:
            shown |= {"bot_id": names.BOT, "app_id": names.APP, "team": names.TEAM}
        if self.blocks:
            shown["blocks"] = with_ids(self.blocks)
        shown |= {key: self.payload[key] for key in _TOLD if key in self.payload}
        if self.reactions:
            shown["reactions"] = [
                {"name": name, "users": users, "count": len(users)}
                for name, users in self.reactions.items()
            ]
        if self.edited:
            shown["edited"] = {"user": self.user, "ts": self.edited}
        if with_metadata and self.payload.get("metadata"):
            shown["metadata"] = self.payload["metadata"]
        return shown


def with_ids(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return blocks with the ids that Slack gives those that have none."""
    return [{**block, "block_id": block_id(block, at)} for at, block in enumerate(blocks)]


def block_id(block: Mapping[str, Any], at: int) -> str:
    return str(block.get("block_id") or f"block{at}")
