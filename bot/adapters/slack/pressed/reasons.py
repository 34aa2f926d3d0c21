"""Why an answer did not help: asked for privately, and kept with the vote.

A form remembers what it is about, and the address of the question that it was opened from.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping

import structlog
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.context.ack.async_ack import AsyncAck

from bot.adapters.slack.pressed import reason_words as words
from bot.adapters.slack.pressed.pressing import Press, Presses, presser
from bot.adapters.slack.said.ongoing import ACCEPT_SECONDS
from bot.adapters.slack.showing.asides import Asides
from bot.adapters.slack.showing.modals import Modals, value_in
from bot.adapters.slack.showing.posting import Poster
from bot.adapters.slack.wire.actions import REASON_FORM
from bot.adapters.slack.wire.events import Event, id_at, object_at, text_at
from bot.adapters.slack.wire.labels import Place
from bot.chat.actions import (
    LATER,
    NOTHING_TO_RATE,
    ActionRejected,
    ActionTargets,
    interaction_named,
)
from bot.chat.votes import COMMENT_TOO_LONG, AnswerVotes
from bot.domain.concurrency import BackgroundTasks
from bot.domain.errors import BotError, FeedbackInvalid, InteractionUnknown
from bot.domain.feedback import LONGEST_COMMENT, REASONS
from bot.domain.types import InteractionId, Thread

log = structlog.get_logger(__name__)


class Reasons:
    """Implements Registers: the buttons of a reason, and the form for words of one's own."""

    def __init__(
        self,
        *,
        tenant: str,
        judging: AnswerVotes,
        subjects: ActionTargets,
        presses: Presses,
        poster: Poster,
        asides: Asides,
        modals: Modals,
        errands: BackgroundTasks,
    ) -> None:
        self._tenant = tenant
        self._judging = judging
        self._subjects = subjects
        self._presses = presses
        self._poster = poster
        self._asides = asides
        self._modals = modals
        self._errands = errands

    def register(self, bolt: AsyncApp) -> None:
        self._presses.on(bolt, words.REASON_ID, self._give)
        bolt.view(REASON_FORM)(self._submit)

    async def ask(self, thread: Thread, user: str, interaction_id: InteractionId) -> None:
        """Ask one person what was wrong with an answer, in its thread. Raises DeliveryFailed."""
        place = Place(thread.channel, thread.id, since=thread.id)
        await self._poster.post_ephemeral(place, user, words.asking(interaction_id))

    async def ask_at(self, url: str, interaction_id: InteractionId) -> None:
        """Ask it at the address that came with a press. Raises DeliveryFailed."""
        richest = words.asking(interaction_id)[0]
        await self._asides.tell(url, richest.text, richest.blocks)

    async def _give(self, press: Press) -> None:
        code, _, value = press.value.partition(":")
        interaction_id = interaction_named(value)
        await self._subjects.acted_on(interaction_id, press.presser)
        if code in REASONS and code != words.OTHER:
            await self._keep(interaction_id, press.user, reason=code)
            self._show(press.response_url, words.noted(interaction_id, code))
        elif code in {words.OTHER, words.MORE_WORDS}:
            about = {"id": interaction_id, "channel": press.channel, "reason": code}
            about["response_url"] = press.response_url
            view = words.form(json.dumps(about))
            self._presses.show(press, self._modals.open(press.trigger_id, view))
        else:
            log.info("slack.reason_unknown", reason=code[:40])

    async def _submit(self, ack: AsyncAck, body: dict[str, object], view: Event) -> None:
        about = _about(view)
        comment = value_in(view, words.COMMENT)
        try:
            async with asyncio.timeout(ACCEPT_SECONDS):
                await self._said(about, id_at(object_at(body, "user"), "id"), comment)
        except ActionRejected as error:
            await ack(response_action="errors", errors={words.COMMENT: str(error)})
            return
        except (BotError, TimeoutError) as error:
            log.warning("slack.reason_not_kept", error=type(error).__name__)
            await ack(response_action="errors", errors={words.COMMENT: LATER})
            return
        await ack()
        self._show(about.get("response_url", ""), words.thanks(InteractionId(about["id"])))

    async def _said(self, about: Mapping[str, str], user: str, comment: str) -> None:
        interaction_id = interaction_named(about.get("id", ""))
        await self._subjects.acted_on(interaction_id, presser(user, about.get("channel", "")))
        reason = words.OTHER if about.get("reason") == words.OTHER else None
        await self._keep(interaction_id, user, reason=reason, comment=comment)

    async def _keep(
        self,
        interaction_id: InteractionId,
        user: str,
        *,
        reason: str | None,
        comment: str | None = None,
    ) -> None:
        try:
            await self._judging.say_why(
                self._tenant, interaction_id, user, reason=reason, comment=comment
            )
        except FeedbackInvalid as error:
            too_long = len(comment or "") > LONGEST_COMMENT
            raise ActionRejected(COMMENT_TOO_LONG if too_long else NOTHING_TO_RATE) from error
        except InteractionUnknown as error:
            raise ActionRejected(NOTHING_TO_RATE) from error

    def _show(self, url: str, shown: words.Shown) -> None:
        """Put the outcome in place of the question; it may be lost."""
        replaced = self._asides.replace(url, shown.text, shown.blocks)
        self._errands.run(replaced, what="reason noted")


def _about(view: Event) -> Mapping[str, str]:
    """Return what a form was opened for; it comes back from a client, so it may be anything."""
    try:
        about = json.loads(text_at(view, "private_metadata"))
    except ValueError:
        return {}
    if not isinstance(about, dict):
        return {}
    return {key: value for key, value in about.items() if isinstance(value, str)}
