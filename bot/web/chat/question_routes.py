"""Accept questions of the web chat: typed, a section beside an answer, edited, or for a person."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from aiohttp import web

from bot.domain.handoff import (
    THREAD_MESSAGES_CHECKED,
    person_request,
    person_request_id,
    typed_question,
)
from bot.domain.interactions import (
    Interaction,
)
from bot.domain.messages import Attachment, Message, chosen_section_id, edited_id
from bot.domain.ports import Inbox, Interactions
from bot.domain.texts import tr
from bot.web.auth.identity import person_of
from bot.web.chat.exchanges import Exchanges, is_editable, valid_uuid
from bot.web.pages import redirect_unless_fragment
from bot.web.problems import allow_larger_body, problem
from bot.web.question_forms import FILE_LIMITS, read_question_form

_WITH_FILES = ("/chat/{conversation}", "/chat/{conversation}/{id}/edit")
_NOT_EDITABLE = tr(
    "You can only edit your latest question, and only until it is handed over to a person."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionRoutes:
    """Handlers that accept and withdraw questions; each returns the exchange."""

    exchanges: Exchanges
    inbox: Inbox
    interactions: Interactions
    data_dir: Path

    def mount(self, app: web.Application) -> None:
        """Add the routes."""
        for path in _WITH_FILES:
            allow_larger_body(app, path, FILE_LIMITS.body)
        app.router.add_post("/chat/{conversation}", self.ask)
        app.router.add_post("/chat/{conversation}/{id}/person", self.person)
        app.router.add_post("/chat/{conversation}/{id}/section", self.section)
        app.router.add_post("/chat/{conversation}/{id}/edit", self.edit)
        app.router.add_post("/chat/{conversation}/{id}/withdraw", self.withdraw)

    async def ask(self, request: web.Request) -> web.Response:
        """Accept a question and return its bubble, which then polls for the answer.

        The page gives each question an id, so that a double click sends the same question, not
        another.
        """
        form = await read_question_form(request, self.data_dir)
        once = valid_uuid(form.fields.get("message"))
        accepted = await self._accept(request, form.question, once, form.files)
        return await self._exchange(request, accepted)

    async def person(self, request: web.Request) -> web.Response:
        """Request a person for an earlier question; idempotent."""
        interaction = await self.exchanges.own_interaction(request)
        once = person_request_id(interaction.message.id)
        accepted = await self._accept(request, await self._wish(request, interaction), once)
        return await self._exchange(request, accepted)

    async def _wish(self, request: web.Request, asked: Interaction) -> str:
        """Return the text of the request; it names the question unless that is the last one."""
        seen = await self.exchanges.visibility(request, [asked])
        if seen.asked(asked) is None:
            # Its text comes from a page that the asker may not read, and experts perhaps even less.
            raise problem(409, seen.why_closed)
        there = await self.interactions.in_thread(asked.message.thread, THREAD_MESSAGES_CHECKED)
        is_last = [each.id for each in there[-1:]] == [asked.id]
        return person_request("" if is_last else typed_question(asked, there))

    async def section(self, request: web.Request) -> web.Response:
        """Ask about a section beside an answer, if the asker may read it at this moment.

        The text is the page's: nothing of the form but the section's id is used.
        """
        interaction = await self.exchanges.own_interaction(request)
        form = await request.post()
        chunk_id = str(form.get("section", ""))
        seen = await self.exchanges.visibility(request, [interaction])
        label = await self.exchanges.follow_ups.chosen(request, interaction, seen, chunk_id)
        if label is None:
            raise problem(409, seen.why_closed)
        once = chosen_section_id(valid_uuid(str(form.get("message", ""))), chunk_id)
        return await self._exchange(request, await self._accept(request, label, once))

    async def edit(self, request: web.Request) -> web.Response:
        """Ask the last question again as it reads now; the answer that it had is removed.

        While it is being answered, its text is replaced. Afterwards, or with other files, it is
        another question in the place of the old one, which is withdrawn once the new one is kept.
        Idempotent.
        """
        interaction = await self.exchanges.own_interaction(request)
        form = await read_question_form(request, self.data_dir)
        again = edited_id(interaction.message)
        if interaction.withdrawn:
            return await self._exchange(request, await self._replacement(interaction, again))
        if not await self._may_edit(interaction):
            raise problem(409, _NOT_EDITABLE)
        if interaction.outcome is None and not form.files:
            await self.inbox.amend(replace(interaction.message, text=form.question))
            interaction = await self.exchanges.own_interaction(request)
            if interaction.outcome is None and not interaction.withdrawn:
                return await self._exchange(request, interaction)
        accepted = await self._accept(request, form.question, again, form.files)
        await self.inbox.cancel(interaction.id)
        return await self._exchange(request, accepted)

    async def _replacement(self, withdrawn: Interaction, message_id: str) -> Interaction:
        """Return the question that replaced a withdrawn one. Raises Problem (409) without one."""
        replacing = replace(withdrawn.message, id=message_id).interaction_id
        found = await self.interactions.get(replacing)
        if found is None:
            raise problem(409, _NOT_EDITABLE)
        return found

    async def _may_edit(self, interaction: Interaction) -> bool:
        there = await self.interactions.in_thread(interaction.message.thread, 1)
        case = await self.exchanges.case_card(interaction)
        is_last = [each.id for each in there] == [interaction.id]
        return is_last and case is None and is_editable(interaction)

    async def withdraw(self, request: web.Request) -> web.Response:
        """Delete a question and its answer; idempotent."""
        interaction = await self.exchanges.own_interaction(request)
        await self.inbox.cancel(interaction.id)
        return await self._exchange(request, await self.exchanges.own_interaction(request))

    async def _accept(
        self,
        request: web.Request,
        text: str,
        message_id: str,
        files: tuple[Attachment, ...] = (),
    ) -> Interaction:
        message = Message(
            id=message_id,
            thread=self.exchanges.thread(request, valid_uuid(request.match_info["conversation"])),
            author=person_of(request),
            text=text,
            received_at=datetime.now(UTC),
            private=True,
            attachments=files,
        )
        interaction = await self.interactions.get(await self.inbox.accept(message))
        if interaction is None:
            raise problem(503, tr("Your question could not be saved. Please ask again."))
        return interaction

    async def _exchange(self, request: web.Request, interaction: Interaction) -> web.Response:
        redirect_unless_fragment(request, "/")
        return await self.exchanges.exchange(request, "web/exchange.html", interaction)
