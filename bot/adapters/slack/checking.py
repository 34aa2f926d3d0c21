"""What Slack says of our token, as a line for `python -m bot doctor`."""

from __future__ import annotations

from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.startup import Part

NEEDED = frozenset({"app_mentions:read", "chat:write", "im:history", "channels:history"})
"""Scopes without which something that is promised does not work; the rest degrade."""


def checked(answer: AsyncSlackResponse, team: str | None) -> Part:
    """Compare the workspace and the scopes of auth.test's answer with what is needed."""
    if team is not None and answer["team_id"] != team:
        cure = "Set SLACK_TEAM_ID to it, or use the token of the other workspace."
        return Part("Slack", "failed", f"the token is for workspace {answer['team_id']!r}.", cure)
    missing = NEEDED - _granted(answer)
    if missing:
        cure = "Add them (infra/slack/manifest.yaml lists all) and reinstall the app."
        return Part("Slack", "failed", f"scopes are missing: {', '.join(sorted(missing))}.", cure)
    return Part("Slack", "ready", f"workspace {answer['team_id']}, user {answer['user_id']}")


def _granted(answer: AsyncSlackResponse) -> frozenset[str]:
    """Return the token's scopes; Slack names them in a header of every answer."""
    headers = {name.lower(): value for name, value in answer.headers.items()}
    return frozenset(scope.strip() for scope in headers.get("x-oauth-scopes", "").split(","))
