"""Compose a private answer for the asker of a channel, and show its record to them again.

A private answer rests on pages that the asker may read and the channel may not. It is shown whole
or not at all; permissions are checked again at every view.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import structlog

from bot.answering.answer_plan import ModelProfile, SearchRequest, retrieve
from bot.answering.asker_identity import Reader
from bot.answering.grounded_answer import GroundedAnswer, failing_pages, recheck_answer
from bot.answering.reply_text import reply_of
from bot.answering.visibility import ReadablePassages, is_open
from bot.domain.interactions import Interaction, Reply, Source
from bot.domain.ports import RechecksPermissions
from bot.domain.texts import tr
from bot.domain.urls import with_public_links
from rag import telemetry
from rag.errors import RagError
from rag.pipeline import Retrieval
from rag.retrying import question_calls_left
from rag.search_scope import Scope
from rag.telemetry import span
from rag.types import Answer, Chunk, ModelCall

NOTHING_MORE = tr("There is nothing more for you to read about this.")
PAGES_CHANGED = tr(
    "The pages behind this have changed or you no longer have access to them, so I can't show it. "
    "Please ask the question again."
)
READABILITY_NOT_KNOWN = tr(
    "I can't check right now which pages you can read, so I show nothing. "
    "Please try again in a minute."
)

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class PrivateAnswer:
    """A reply for the asker alone; if it is None, ``why_not`` is the reason shown to them."""

    reply: Reply | None
    why_not: str = ""


class PrivateAnswers:
    """Return the recorded private reply of an asker, whole or not at all.

    With ``public_url``, links to this server's own pages are absolute. ``recheck`` checks the
    permissions of the pages at their source.
    """

    def __init__(
        self,
        readable: ReadablePassages,
        *,
        public_url: str | None = None,
        recheck: RechecksPermissions | None = None,
    ) -> None:
        self._readable = readable
        self._recheck = recheck
        self._public_url = public_url

    async def of(self, interaction: Interaction, reader: Reader) -> PrivateAnswer:
        """Return the private reply to a question for its asker, with the permissions of ``reader``.

        The caller must have checked that the request comes from the asker.
        """
        outcome = interaction.outcome
        if outcome is None or outcome.private is None:
            return PrivateAnswer(None, NOTHING_MORE)
        private = outcome.private
        tenant = interaction.message.thread.tenant
        try:
            found = await self._readable.readable(tenant, private.sources, reader.principals)
        except RagError as error:
            _log.warning("fuller.index_unavailable", why=str(error))
            return PrivateAnswer(None, READABILITY_NOT_KNOWN)
        may_read = reader.among(found)
        if not private.sources or not all(
            _still_quotes(each, may_read) for each in private.sources
        ):
            return PrivateAnswer(None, PAGES_CHANGED)
        scope = Scope(tenant, reader.principals)
        if await failing_pages(self._recheck, list(may_read.values()), scope):
            return PrivateAnswer(None, PAGES_CHANGED)
        return PrivateAnswer(with_public_links(outcome, self._public_url).private)


def _still_quotes(source: Source, may_read: Mapping[str, Chunk]) -> bool:
    """Return whether a source may be read and its passage still contains the quote."""
    return is_open(source, may_read) and source.quote in may_read[source.chunk_id].text


Gate = Callable[[ModelProfile, SearchRequest, Retrieval, Answer], GroundedAnswer]


async def compose_private_reply(
    profile: ModelProfile,
    request: SearchRequest | None,
    public_chunk_ids: frozenset[str],
    *,
    gate: Gate,
    recheck: RechecksPermissions | None,
) -> tuple[Reply | None, tuple[ModelCall, ...]]:
    """Return a reply that cites passages which the public answer had not found, if any.

    The reply is None if the gate does not pass it, or on failure; the model calls are returned in
    any case.

    Args:
        profile: The model and the pages to answer from.
        request: What to search for, with the asker as its reader; None asks for nothing, nor is
            anything asked for once the question's model calls are used up.
        public_chunk_ids: The passages found for the answer that the channel gets.
        gate: Judges an answer.
        recheck: Rechecks the permissions of the pages; None trusts the index.
    """
    if request is None or (profile.model and not question_calls_left()):
        return None, ()

    async def answer(request: SearchRequest) -> GroundedAnswer | None:
        # What a model searches for with the asker's own permissions isn't worth further calls.
        pipeline = profile.pipeline.without_planning()
        retrieval = await retrieve(pipeline, request)
        if retrieval.chunk_ids <= public_chunk_ids:
            return None
        answer = await pipeline.compose(retrieval, request.scope, request.attached, request.asked)
        return gate(profile, request, retrieval, answer)

    try:
        with span(telemetry.PRIVATE_REPLY):
            found = await answer(request)
            if found is None:
                return None, ()
            found = await recheck_answer(found, request, answer, recheck)
    except RagError as error:
        _log.exception("private_reply_failed")
        return None, error.calls
    if found.answer is None or found.level is None:
        return None, found.calls
    if not found.passes or found.cited_chunk_ids <= public_chunk_ids:
        return None, found.calls
    return reply_of(found.answer, found.probability, found.level), found.calls
