"""Ask one person privately why an answer did not help, and store the reason with the vote.

The private metadata of the comment modal holds its interaction, and the response URL of the
question that it was opened from.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

import structlog
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck

from bot.chat.actions import (
    LATER,
    NOTHING_TO_RATE,
    ActionRejected,
    ActionTargets,
    interaction_named,
)
from bot.chat.votes import (
    COMMENT_QUESTION,
    COMMENT_READERS,
    COMMENT_THANKS,
    COMMENT_TOO_LONG,
    REASON_LABELS,
    AnswerVotes,
)
from bot.domain.concurrency import BackgroundTasks
from bot.domain.errors import BotError, FeedbackInvalid, InteractionUnknown
from bot.domain.feedback import LONGEST_COMMENT, REASONS, Reason
from bot.domain.messages import InteractionId, Thread
from bot.platforms.slack.actions.interactivity import (
    Press,
    PressDispatcher,
    input_block,
    modal,
    modal_metadata,
    presser_in,
    text_input,
    typed_value,
)
from bot.platforms.slack.client.api import SlackClient
from bot.platforms.slack.payloads.actions import ASK_PERSON, REASON, REASON_FORM
from bot.platforms.slack.payloads.events import Event, id_at, object_at, text_at
from bot.platforms.slack.payloads.metadata import Place
from bot.platforms.slack.rendering import (
    Block,
    MessageForm,
    MessageForms,
    actions,
    button,
    section,
)
from bot.platforms.slack.transport.requests import ACCEPT_SECONDS

OTHER_REASON: Reason = "other"
MORE_WORDS = "more"
COMMENT_FIELD = "comment"
"""The action id of the comment field, and the id of its block."""

REASON_ACTION = re.compile(rf"^{REASON}:\w+$")

_QUESTION = "Thanks for telling me. What was wrong with the answer? Only you see this."
_NOTED = "Thanks, I've noted: \u201c{label}\u201d."


def reason_question(interaction_id: InteractionId) -> MessageForms:
    """Return the question why an answer did not help, with a button to ask a person."""
    reasons = [_reason_button(label, code, interaction_id) for code, label in REASON_LABELS.items()]
    blocks = (section(_QUESTION), actions(reasons), actions([_person_button(interaction_id)]))
    return (MessageForm(_QUESTION, blocks), MessageForm(_QUESTION))


def reason_noted(interaction_id: InteractionId, reason: str) -> MessageForm:
    """Return the message that replaces the question once a reason is given."""
    label = next((label for code, label in REASON_LABELS.items() if code == reason), reason)
    text = _NOTED.format(label=label)
    more = _reason_button("Say more\u2026", MORE_WORDS, interaction_id)
    return MessageForm(text, (section(text), actions([more, _person_button(interaction_id)])))


def comment_thanks(interaction_id: InteractionId) -> MessageForm:
    """Return the message that replaces the question once a comment is given."""
    return MessageForm(
        COMMENT_THANKS, (section(COMMENT_THANKS), actions([_person_button(interaction_id)]))
    )


def comment_modal(about: str) -> Mapping[str, object]:
    """Return the modal for a free-text comment; ``about`` is returned with its submission."""
    question = input_block(
        COMMENT_FIELD, COMMENT_QUESTION, text_input(LONGEST_COMMENT), COMMENT_READERS
    )
    return modal(REASON_FORM, "What was wrong?", [question], submit="Send", private_metadata=about)


def _reason_button(label: str, code: str, interaction_id: InteractionId) -> Block:
    return button(label, f"{REASON}:{code}", f"{code}:{interaction_id}")


def _person_button(interaction_id: InteractionId) -> Block:
    return button("Ask a person", ASK_PERSON, interaction_id)


log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackReasons:
    """Handles the reason buttons and the comment modal. Implements `Listener`."""

    tenant: str
    votes: AnswerVotes
    targets: ActionTargets
    presses: PressDispatcher
    client: SlackClient
    background: BackgroundTasks

    def register(self, bolt: AsyncApp) -> None:
        self.presses.on(bolt, REASON_ACTION, self._give)
        bolt.view(REASON_FORM)(self._submit)

    async def ask(self, thread: Thread, user: str, interaction_id: InteractionId) -> None:
        """Ask one person what was wrong with an answer, in its thread. Raises DeliveryFailed."""
        place = Place(thread.channel, thread.id, since=thread.id)
        forms = reason_question(interaction_id)
        await self.client.chat_post_ephemeral(place, user, forms, kind="reason question")

    async def ask_at(self, url: str, interaction_id: InteractionId) -> None:
        """Ask what was wrong, at the response URL of a press. Raises DeliveryFailed."""
        await self.client.respond(url, reason_question(interaction_id))

    async def _give(self, press: Press) -> None:
        code, _, value = press.value.partition(":")
        interaction_id = interaction_named(value)
        await self.targets.acted_on(interaction_id, press.presser)
        if code in REASONS and code != OTHER_REASON:
            await self._store(interaction_id, press.user, reason=code)
            self._show(press.response_url, reason_noted(interaction_id, code))
        elif code in {OTHER_REASON, MORE_WORDS}:
            about = {"id": interaction_id, "channel": press.channel, "reason": code}
            about["response_url"] = press.response_url
            view = comment_modal(json.dumps(about))
            self.presses.open_modal(press, self.client.views_open(press.trigger_id, view))
        else:
            log.info("slack.reason_unknown", reason=code[:40])

    async def _submit(self, ack: AsyncAck, body: dict[str, object], view: Event) -> None:
        metadata = modal_metadata(view)
        about = {key: text_at(metadata, key) for key in metadata}
        comment = typed_value(view, COMMENT_FIELD)
        try:
            async with asyncio.timeout(ACCEPT_SECONDS):
                await self._store_comment(about, id_at(object_at(body, "user"), "id"), comment)
        except ActionRejected as error:
            await ack(response_action="errors", errors={COMMENT_FIELD: str(error)})
            return
        except (BotError, TimeoutError) as error:
            log.warning("slack.reason_not_kept", error=type(error).__name__)
            await ack(response_action="errors", errors={COMMENT_FIELD: LATER})
            return
        await ack()
        self._show(about.get("response_url", ""), comment_thanks(InteractionId(about["id"])))

    async def _store_comment(self, about: Mapping[str, str], user: str, comment: str) -> None:
        interaction_id = interaction_named(about.get("id", ""))
        await self.targets.acted_on(interaction_id, presser_in(user, about.get("channel", "")))
        reason = OTHER_REASON if about.get("reason") == OTHER_REASON else None
        await self._store(interaction_id, user, reason=reason, comment=comment)

    async def _store(
        self,
        interaction_id: InteractionId,
        user: str,
        *,
        reason: str | None,
        comment: str | None = None,
    ) -> None:
        try:
            await self.votes.say_why(
                self.tenant, interaction_id, user, reason=reason, comment=comment
            )
        except FeedbackInvalid as error:
            too_long = len(comment or "") > LONGEST_COMMENT
            raise ActionRejected(COMMENT_TOO_LONG if too_long else NOTHING_TO_RATE) from error
        except InteractionUnknown as error:
            raise ActionRejected(NOTHING_TO_RATE) from error

    def _show(self, url: str, form: MessageForm) -> None:
        """Replace the question with the outcome, in the background; it may be lost."""
        replacing = self.client.respond(url, (form,), replace=True)
        self.background.run(replacing, what="reason noted")
