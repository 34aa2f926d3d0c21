"""API handlers for questions (ask, read, amend, withdraw, feedback) and the health checks."""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from aiohttp import web

from bot.answering.asker_identity import Reader
from bot.answering.visibility import ReadablePassages, visibility_in
from bot.domain.errors import InboxUnavailable
from bot.domain.health import CheckComponents
from bot.domain.interactions import Feedback, Interaction, Outcome, new_feedback
from bot.domain.messages import (
    Activity,
    Attachment,
    InteractionId,
    Message,
    Person,
    SearchFilters,
    Stage,
    Thread,
)
from bot.domain.outcomes import NOT_KEPT, unavailable_outcome
from bot.domain.ports import Audits, Inbox, Interactions
from bot.domain.settings import Settings
from bot.web.api import schemas
from bot.web.api.answers import (
    NOT_FOUND_V1,
    VisibleAnswer,
    answer_v1,
    answer_v2,
    limit_of,
    limit_problem,
    pipeline_of,
)
from bot.web.api.operations import FORM, V1, V2
from bot.web.api.requests import (
    IDEMPOTENCY_KEY,
    body_of,
    boolean_query,
    claimed_user,
    idempotency_key,
    invalid_field,
    json_reply,
    question_of_form,
    user_of_query,
)
from bot.web.auth.identity import (
    identities_of,
    person_of,
    principals_for,
    role_of,
)
from bot.web.problems import problem

INTERACTION_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class ApiVersion:
    """One version of the API: its root path and its mapping of outcomes.

    ``answer`` takes the interaction id, the conversation id and the outcome; its ``scored`` sets
    whether exact scores are shown. With ``limits_are_errors``, a question that a limit refused gets
    a 429 or 503 instead of an answer.
    """

    root: str
    answer: Callable[..., schemas.Answer | schemas.AnswerV2]
    interaction: type[schemas.Interaction | schemas.InteractionV2]
    limits_are_errors: bool


def first_version(settings: Settings) -> ApiVersion:
    """Return version 1, which is kept compatible."""
    set_by_hand = "not_found_message" in settings.model_fields_set
    answer = partial(
        answer_v1, not_found=settings.not_found_message if set_by_hand else NOT_FOUND_V1
    )
    return ApiVersion(V1, answer, schemas.Interaction, limits_are_errors=False)


def second_version(settings: Settings) -> ApiVersion:
    """Return version 2."""
    answer = partial(answer_v2, unsure=settings.escalation_message)
    return ApiVersion(V2, answer, schemas.InteractionV2, limits_are_errors=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class InteractionsApi:
    """Handlers of one version of the API; stateless.

    ``ask_seconds`` is the timeout of waiting for an answer.
    """

    version: ApiVersion
    inbox: Inbox
    interactions: Interactions
    audits: Audits
    settings: Settings
    check_parts: CheckComponents
    readable: ReadablePassages
    ask_seconds: float

    async def ask(self, request: web.Request) -> web.Response:
        """Answer a question."""
        asked, files = await self._asked(request)
        key = idempotency_key(request)
        person = person_of(request, claimed_user(asked.user))
        message = self._message(asked, files, person, key)
        interaction_id = await self.inbox.accept(message)
        conversation = message.thread.id
        if key is not None:
            conversation = await self._first_with_key(interaction_id, message)
        outcome = await self._wait(interaction_id)
        limit = limit_of(outcome)
        if limit is not None and self.version.limits_are_errors:
            raise limit_problem(interaction_id, conversation, outcome, limit, datetime.now(UTC))
        answer = self._answer(
            interaction_id,
            conversation,
            outcome,
            pipeline=message.search_filters if asked.show_pipeline else None,
            scored=role_of(request) == "admin",
        )
        first = None if key is None else await self.interactions.get(interaction_id)
        if first is not None:
            answer = (await self._seen(request, first)).answer(answer)
        return json_reply(answer)

    async def interaction(self, request: web.Request) -> web.Response:
        """Return one question with its answer; 202 while it is in progress."""
        show_pipeline = boolean_query(request, "show_pipeline")
        interaction = await self._visible(request)
        if interaction.outcome is None and interaction.status == "working":
            return json_reply(await self._working(interaction), 202, {"Retry-After": "1"})
        given_up = unavailable_outcome(interaction.message, "The work on it was given up.")
        outcome = interaction.outcome or given_up
        thread = interaction.message.thread
        answer = self._answer(
            interaction.id,
            thread.id,
            outcome,
            pipeline=interaction.message.search_filters if show_pipeline else None,
            scored=role_of(request) == "admin",
        )
        seen = await self._seen(request, interaction)
        feedback = await self.interactions.feedback(interaction.id)
        return json_reply(
            self.version.interaction(
                **seen.answer(answer).model_dump(),
                question=seen.question,
                created_at=interaction.created_at,
                feedback=[
                    schemas.Feedback.model_validate(item)
                    for item in feedback
                    if _may_read(request, item)
                ],
            )
        )

    async def amend(self, request: web.Request) -> web.Response:
        """Change a question that has no answer yet."""
        changed = await body_of(request, schemas.Amend)
        interaction = await self._visible(request)
        if interaction.message.thread.platform not in {"rest", "web"}:
            elsewhere = "A question is changed by its asker, where it was asked."
            raise problem(403, elsewhere, cure="Ask a question of your own.")
        if interaction.outcome is None:
            await self.inbox.amend(replace(interaction.message, text=changed.question))
            amended = await self._visible(request)
            if amended.message.text == changed.question:
                return json_reply(await self._working(amended))
        late = "The question is answered already; the answer stays as it is."
        raise problem(409, late, cure="Ask the changed question anew.")

    async def withdraw(self, request: web.Request) -> web.Response:
        """Delete a question and its answer; from then on it is a 404."""
        interaction = await self._visible(request)
        await self.inbox.cancel(interaction.id)
        if interaction.message.author.id != person_of(request).id:
            tenant = interaction.message.thread.tenant
            await self.audits.append(tenant, "api:admin", "withdraw", interaction.id)
        return web.Response(status=204)

    async def judge(self, request: web.Request) -> web.Response:
        """Store feedback for an answer."""
        given = await body_of(request, schemas.Judge)
        interaction = await self._visible(request)
        if interaction.outcome is None:
            raise problem(409, "There is no answer to judge yet.", cure="Wait for the answer.")
        kept = new_feedback(
            interaction.id,
            person_of(request, claimed_user(given.user)).id,
            given.vote,
            rating=given.rating,
            reason=given.reason,
            comment=given.comment,
        )
        await self.interactions.rate(kept)
        return json_reply(schemas.Feedback.model_validate(kept))

    async def unjudge(self, request: web.Request) -> web.Response:
        """Delete one's feedback for an answer; idempotent."""
        interaction = await self._visible(request)
        person = person_of(request, user_of_query(request))
        await self.interactions.unrate(interaction.id, person.id)
        return web.Response(status=204)

    async def health(self, _: web.Request) -> web.Response:
        """Return 200: the process runs (liveness)."""
        return json_reply(schemas.Health(status="ok", role=self.settings.role))

    async def ready(self, request: web.Request) -> web.Response:
        """Return whether questions can be answered now (readiness); 503 if a vital part failed."""
        parts = await self.check_parts()
        failed = any(part.state == "failed" and part.vital for part in parts)
        told = not self.settings.exposed or identities_of(request).is_admin(request)
        shown = [
            schemas.Part(
                name=part.name,
                state=part.state,
                detail=part.detail if told else None,
                cure=part.cure if told else None,
            )
            for part in parts
        ]
        body = schemas.Readiness(
            status="not_ready" if failed else "ready", role=self.settings.role, parts=shown
        )
        return json_reply(body, 503 if failed else 200)

    async def _asked(self, request: web.Request) -> tuple[schemas.Ask, tuple[Attachment, ...]]:
        """Read a question and its files. Raises Problem."""
        if request.content_type == FORM:
            return await question_of_form(request, self.settings.data_dir)
        return await body_of(request, schemas.Ask), ()

    def _message(
        self,
        asked: schemas.Ask,
        files: tuple[Attachment, ...],
        person: Person,
        key: str | None,
    ) -> Message:
        """Build the message; conversation ids are scoped to the person."""
        conversation = asked.conversation_id or str(uuid.uuid4())
        return Message(
            id=f"key:{key}" if key is not None else str(uuid.uuid4()),
            thread=Thread("rest", self.settings.tenant, person.id, conversation),
            author=person,
            text=asked.question,
            received_at=datetime.now(UTC),
            private=True,
            attachments=files,
            search_filters=SearchFilters(
                None if asked.spaces is None else frozenset(asked.spaces), asked.source_type
            ),
            model=self._allowed_model(asked.model),
        )

    def _allowed_model(self, named: str | None) -> str:
        """Return the model of a request, "" for the usual one. Raises Problem (422)."""
        allowed = self.settings.rest_models
        if named is None or named in allowed:
            return named or ""
        cure = f"Name one of {', '.join(allowed)}, or leave it out." if allowed else "Leave it out."
        raise invalid_field("model", named, "is no model that a request may name here", cure)

    async def _first_with_key(self, interaction_id: InteractionId, message: Message) -> str:
        """Return the conversation of the first request with this idempotency key.

        Raises Problem (409) when that request asked another question, with other files or filters
        or of another model.
        """
        first = await self.interactions.get(interaction_id)
        if first is not None and not _same_request(first.message, message):
            raise problem(
                409,
                f"This {IDEMPOTENCY_KEY} was used for another question.",
                cure="Send a new key with a new question.",
                interaction_id=interaction_id,
            )
        return message.thread.id if first is None else first.message.thread.id

    async def _wait(self, interaction_id: InteractionId) -> Outcome:
        poll = f"{self.version.root}/interactions/{interaction_id}"
        try:
            async with asyncio.timeout(self.ask_seconds):
                return await self.inbox.outcome(interaction_id)
        except TimeoutError as error:
            late = "The answer takes longer than you should wait. It is still being worked on."
            raise problem(504, late, interaction_id=interaction_id, poll=poll) from error
        except InboxUnavailable as error:
            kept = "Your question is kept; it is answered after the server's next start."
            raise problem(503, kept, interaction_id=interaction_id, poll=poll) from error

    def _answer(
        self,
        interaction_id: str,
        conversation: str,
        outcome: Outcome,
        *,
        pipeline: SearchFilters | None,
        scored: bool,
    ) -> schemas.Answer | schemas.AnswerV2:
        """Return the answer, with its pipeline if the question's filters are given."""
        answer = self.version.answer(interaction_id, conversation, outcome, scored=scored)
        if pipeline is None:
            return answer
        return answer.model_copy(update={"pipeline": pipeline_of(outcome, pipeline, scored=scored)})

    async def _seen(self, request: web.Request, asked: Interaction) -> VisibleAnswer:
        """Return the part of a recorded question that the caller may see."""
        reader = Reader(await principals_for(request, asked))
        tenant = asked.message.thread.tenant
        seen = await visibility_in(self.readable, tenant, [asked], reader)
        return VisibleAnswer(asked, seen, scored=role_of(request) == "admin")

    async def _working(self, interaction: Interaction) -> schemas.Working:
        reported = await self.interactions.stages(interaction.id)
        activity = reported[-1] if reported else Activity(Stage.RECEIVED)
        return schemas.Working(
            interaction_id=interaction.id,
            status="working",
            stage=activity.stage.value,
            pages=activity.pages,
            conversation_id=interaction.message.thread.id,
            question=interaction.message.asked,
            created_at=interaction.created_at,
        )

    async def _visible(self, request: web.Request) -> Interaction:
        """Return the interaction of the path; one that the caller may not see is a 404, too."""
        wanted = request.match_info["id"]
        known = INTERACTION_ID.fullmatch(wanted) is not None
        interaction = await self.interactions.get(InteractionId(wanted)) if known else None
        if (
            interaction is None
            or interaction.withdrawn
            or not identities_of(request).may_see(request, interaction)
        ):
            raise problem(404, f"There is no interaction {wanted[:64]!r} of yours.")
        return interaction


def _may_read(request: web.Request, feedback: Feedback) -> bool:
    return identities_of(request).sees_all(request) or feedback.person_id == person_of(request).id


def _same_request(first: Message, again: Message) -> bool:
    """Return whether two messages are the same request; of files, contents are not compared."""
    same = first.search_filters == again.search_filters and first.model == again.model
    if first.text == NOT_KEPT:
        return same
    return same and first.text == again.text and _told(first) == _told(again)


def _told(message: Message) -> list[tuple[str, str, int]]:
    return [(each.name, each.media_type, each.size) for each in message.attachments]
