"""Modals: what Slack takes of one, and what is open."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.bot.adapters.slack.blocks import BLOCK_TYPES, block_text, wrong_in
from tests.bot.adapters.slack.workspace import names
from tests.bot.adapters.slack.workspace.posts import with_ids
from tests.bot.adapters.slack.workspace.shapes import flag, one_of, plain, shape, string


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


@dataclass
class View:
    """A modal that a person has before them; ``below`` is the one it was pushed onto."""

    id: str
    user: str
    payload: dict[str, Any]
    version: int = 1
    values: dict[str, dict[str, Any]] = field(default_factory=dict)
    below: View | None = None
    errors: dict[str, str] = field(default_factory=dict)

    @property
    def hash(self) -> str:
        return f"{self.version}.{self.id}"

    @property
    def shown(self) -> str:
        """What a person reads: title, blocks and the button that sends it."""
        title = [self.payload["title"]["text"], *map(block_text, self.payload["blocks"])]
        return "\n".join([*title, (self.payload.get("submit") or {}).get("text", "")]).strip()

    def told(self) -> dict[str, Any]:
        """Return it as answers and events show it."""
        root = self
        while root.below:
            root = root.below
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
            "root_view_id": root.id,
            "previous_view_id": self.below.id if self.below else None,
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
