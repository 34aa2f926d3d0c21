"""What each scope is for: without some nothing works, without the others something is missing."""

from __future__ import annotations

from collections.abc import Mapping

REQUIRED: Mapping[str, str] = {
    "app_mentions:read": "to be asked in channels",
    "channels:history": "to look up what was posted, before it is posted again",
    "channels:read": "to know whether people from outside read along",
    "chat:write": "to answer",
    "im:history": "to be asked in direct messages",
    "users:read": "to know who asks, and what they may read",
}
"""Without these something that is promised does not work."""

OPTIONAL: Mapping[str, str] = {
    "assistant:write": "no suggested prompts, no Stop",
    "commands": "no /frontdesk, no /reindex, no shortcut on messages",
    "files:read": "files that come with a question are not read",
    "groups:history": "private channels: mentions only, no edits, no doubtful reply looked up",
    "groups:read": "private channels: nobody knows whether people from outside read along",
    "im:write": "no answers by direct message to what was asked elsewhere",
    "mpim:history": "group messages: no edits, no doubtful reply looked up",
    "mpim:read": "group messages: nobody knows whether people from outside read along",
    "reactions:read": "thumbs given as reactions are not counted",
    "reactions:write": "no eyes on a question where there is no status line",
    "usergroups:read": "groups in SLACK_ADMINS count for nobody",
    "users:read.email": "nobody gets pages that are for them alone",
}
"""What is left out without each of them; the rest works."""


def granted_in(header: str) -> frozenset[str]:
    """Return the scopes that Slack names in the header of an answer."""
    return frozenset(scope.strip() for scope in header.split(",")) - {""}


def lacking(granted: frozenset[str], wanted: Mapping[str, str]) -> str:
    """Return the scopes that are missing, each with what that means; "" when none is."""
    return "; ".join(f"{scope} ({why})" for scope, why in wanted.items() if scope not in granted)
