"""Messages, shared files and open modals of the workspace, and how Slack shows them."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.slack import names
from tests.fakes.slack.blocks import (
    BLOCK_TYPES,
    block_text,
    flag,
    labels_of,
    one_of,
    parts_of,
    plain,
    shape,
    string,
    wrong_in,
)

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


LOGIN_PAGE = "<!DOCTYPE html><html><head><title>Slack</title></head><body>Sign in</body></html>"


@dataclass(frozen=True)
class StoredFile:
    """A file as it lies in the workspace."""

    name: str
    content: bytes
    mimetype: str = "text/plain"
    id: str = ""
    external: bool = False
    """It came over Slack Connect: events tell its id only, and that it must be asked for."""

    def told(self, site: str) -> dict[str, Any]:
        """Return it as events tell of it; ``site`` is where it can be downloaded."""
        if self.external:
            return {"id": self.id, "file_access": "check_file_info", "mode": "file_access"}
        address = f"{site}/files-pri/{self.id}/{self.name}"
        return {
            "id": self.id,
            "name": self.name,
            "title": self.name,
            "mimetype": self.mimetype,
            "filetype": self.name.rpartition(".")[2],
            "size": len(self.content),
            "mode": "hosted",
            "is_external": False,
            "url_private": address,
            "url_private_download": f"{site}/files-pri/{self.id}/download/{self.name}",
            "permalink": f"https://acme.slack.com/files/{self.id}",
        }


def wrong_view(blocks: object) -> str:
    return wrong_in(blocks, BLOCK_TYPES, view=True)


_VIEW = shape(
    {"type": one_of("modal"), "title": plain(24), "blocks": wrong_view},
    submit=plain(24),
    close=plain(24),
    callback_id=string(255, 0),
    private_metadata=string(3000, 0),
    external_id=string(255, 0),
    clear_on_close=flag,
    notify_on_close=flag,
    submit_disabled=flag,
)


_HOME = shape({"type": one_of("home"), "blocks": wrong_view}, external_id=string(255, 0))


def home_problem(payload: object) -> str:
    """Return why Slack refuses a Home tab, "" when it takes it."""
    return _HOME(payload)


@dataclass
class View:
    """A modal that a person has before them, or their Home tab."""

    id: str
    user: str
    payload: dict[str, Any]
    version: int = 1
    values: dict[str, dict[str, Any]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)

    @property
    def hash(self) -> str:
        return f"{self.version}.{self.id}"

    @property
    def shown(self) -> str:
        """What a person reads: title, blocks and the button that sends it."""
        named = [self.payload["title"]["text"]] if "title" in self.payload else []
        title = [*named, *map(block_text, self.payload["blocks"])]
        return "\n".join([*title, (self.payload.get("submit") or {}).get("text", "")]).strip()

    def told(self) -> dict[str, Any]:
        """Return it as answers and events show it."""
        return {
            "private_metadata": "",
            "callback_id": "",
            "external_id": "",
            "submit": None,
            "close": None,
            "clear_on_close": False,
            "notify_on_close": False,
            **self.payload,
            "id": self.id,
            "team_id": names.TEAM,
            "app_id": names.APP,
            "bot_id": names.BOT,
            "blocks": with_ids(self.payload["blocks"]),
            "state": {"values": self.values},
            "hash": self.hash,
            "root_view_id": self.id,
            "previous_view_id": None,
        }

    def change(self, payload: dict[str, Any]) -> None:
        """Show something else; what was filled in stays where its block stays."""
        self.payload = payload
        self.errors = {}
        self.version += 1
        kept = {block["block_id"] for block in with_ids(payload["blocks"])}
        self.values = {key: value for key, value in self.values.items() if key in kept}


def view_problem(payload: object) -> str:
    """Return why Slack refuses a view, "" when it takes it."""
    wrong = _VIEW(payload)
    if wrong or not isinstance(payload, dict):
        return wrong
    asks = any(block["type"] == "input" for block in payload["blocks"])
    return "a view with input blocks needs submit" if asks and "submit" not in payload else ""
