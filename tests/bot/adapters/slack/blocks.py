"""What Slack takes of a message, and what a person reads of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MARKDOWN_LIMIT = 12_000
BLOCK_TYPES = frozenset({"markdown", "section", "context"})


def refusal(payload: Mapping[str, Any], block_types: frozenset[str]) -> str:
    """Return Slack's reason for refusing a message, "" when it takes it."""
    blocks = payload.get("blocks") or []
    if not (blocks or payload.get("text")):
        return "no_text"
    if len(blocks) > 50 or any(not _takes(block, block_types) for block in blocks):
        return "invalid_blocks"
    written = sum(len(b["text"]) for b in blocks if b["type"] == "markdown")
    if written > MARKDOWN_LIMIT or sum(len(block_text(b)) for b in blocks) > 13_200:
        return "msg_blocks_too_long"
    return "msg_too_long" if len(payload.get("text", "")) > 40_000 else ""


def block_text(block: Mapping[str, Any]) -> str:
    """Return what a block shows."""
    if "elements" in block:
        return "\n".join(str(element["text"]) for element in block["elements"])
    text = block["text"]
    return str(text["text"] if isinstance(text, dict) else text)


def _takes(block: Mapping[str, Any], block_types: frozenset[str]) -> bool:
    match block.get("type"):
        case kind if kind not in block_types:
            return False
        case "markdown":
            return isinstance(block["text"], str) and 0 < len(block["text"]) <= MARKDOWN_LIMIT
        case "section":
            return block["text"]["type"] == "mrkdwn" and 0 < len(block["text"]["text"]) <= 3000
        case _:
            return 0 < len(block["elements"]) <= 10
