"""What Slack does with the bot's answer to a submission or a command."""

from __future__ import annotations

from tests.bot.adapters.slack.blocks import refusal
from tests.bot.adapters.slack.workspace import modals, responses
from tests.bot.adapters.slack.workspace.answers import Answer, Json
from tests.bot.adapters.slack.workspace.state import Workspace
from tests.bot.adapters.slack.workspace.views import View, view_problem

_OK = 200


def after_submission(slack: Workspace, view: View, answer: Answer) -> Json:
    """Close, change or keep a modal as the bot answered; refuse what Slack would not show."""
    if answer.status != _OK:
        return {}
    match answer.body.get("response_action"):
        case None:
            assert answer.text in {"", "{}"}, f"Slack does not understand {answer.text!r}"
            slack.open_views.remove(view)
        case "clear":
            slack.open_views[:] = [v for v in slack.open_views if v.user != view.user]
        case "errors":
            view.errors = answer.body["errors"]
            asked = [block.get("block_id") for block in view.payload["blocks"] if "label" in block]
            assert view.errors, "Slack wants at least one error"
            assert set(view.errors) <= set(asked), f"only {asked} can be wrong"
        case "update":
            view.change(_fit(answer.body["view"]))
        case "push":
            modals.show(slack, view.user, _fit(answer.body["view"]), view)
        case other:
            raise AssertionError(f"Slack knows no response_action {other!r}")
    return answer.body


def after_command(slack: Workspace, user: str, channel: str, answer: Answer) -> None:
    """Show what the bot answered at once, to the person alone unless it says otherwise."""
    if answer.status != _OK or not answer.text:
        return
    payload = answer.body or {"text": answer.text}
    unfit = refusal(payload, slack.block_types)
    assert not unfit, f"Slack does not show this answer: {unfit}"
    responses.say(slack, user, channel, payload)


def _fit(payload: Json) -> Json:
    wrong = view_problem(payload)
    assert not wrong, f"Slack does not show this view: {wrong}"
    return payload
