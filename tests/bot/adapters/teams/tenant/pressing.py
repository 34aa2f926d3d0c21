"""What is sent for a press, and what somebody sees after it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from tests.bot.adapters.teams.tenant import card_rules, cards, forms
from tests.bot.adapters.teams.tenant.posts import Sent
from tests.bot.adapters.teams.tenant.state import Tenant

Json = dict[str, Any]


def pressed(shown: Sequence[cards.Card], title: str, inputs: Mapping[str, object]) -> Json:
    """Return the action of a button, Action.Execute or Action.Submit, with the fields around it."""
    button = forms.find(shown, title)
    assert button.action["type"] in {"Action.Execute", "Action.Submit"}, f"{title!r} sends nothing"
    return {**button.action, "data": forms.sent(button, inputs)}


def execution(action: Mapping[str, Any], trigger: str = "manual") -> Json:
    """Return the value of adaptiveCard/action."""
    return {"action": {"id": str(uuid4()), **action}, "trigger": trigger}


def task(data: Json) -> Json:
    """Return the value of task/fetch and task/submit."""
    return {"data": data, "context": {"theme": "default"}}


def thumbs(post: Sent, reaction: str, text: str, *, plain: bool) -> Json:
    """Return the value of message/submitAction, below what asks for it."""
    told = post.activity.get("channelData") or {}
    asked = told.get("feedbackLoop") or told.get("feedbackLoopEnabled")
    assert asked, "there are no thumbs below this message"
    words = text if plain else json.dumps({"feedbackText": text})
    action = {"reaction": reaction, "feedback": words}
    return {"actionName": "feedback", "actionValue": action}


def refresh_of(shown: Sequence[cards.Card], user: str) -> Json | None:
    """Return what a card that refreshes itself asks for when somebody looks at it."""
    for card in shown:
        refresh = card.get("refresh") or {}
        users = refresh.get("userIds")
        if refresh.get("action") and (users is None or user in users):
            return dict(refresh["action"])
    return None


def learnt(teams: Tenant, person: str, post: Sent, answer: Mapping[str, Any]) -> str:
    """Show somebody the card of an answer instead; return words that they are told."""
    shown = answer.get("value")
    if answer.get("type") != cards.CARD_TYPE:
        return str(shown.get("message") if isinstance(shown, dict) else shown or "")
    assert isinstance(shown, dict), answer
    card_rules.check(shown)
    teams.views[person, post.id] = shown
    return ""
