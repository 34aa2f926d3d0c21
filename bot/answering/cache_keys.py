"""Make the key of an answer in the cache: a digest of all that the answer depends on.

That is the question as it is searched for and what it is limited to, who may read what, the
revision of the spaces, the audience, the model, the gate, the day that a model is told, and what is
the same for all questions (``basis``).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import asdict, replace
from datetime import date

import structlog

from bot.answering.answer_plan import ModelProfile, SearchRequest
from bot.answering.gate import Gate
from bot.domain.interactions import Trace
from bot.domain.messages import Inquiry
from rag.errors import RagError
from rag.search_scope import KnowsRevisions

_END_MARKS = " ?!.\u2026"

_log = structlog.get_logger(__name__)


class CacheKeys:
    """Makes the keys of routed inquiries; keeps no state.

    Args:
        index: Knows the revision of what a reader may search.
        gate: Its suspended certificates change while it serves.
        basis: A digest of what is the same for all questions: settings, prompts, code, gate.
        today: Returns the day that a model is told.
    """

    def __init__(
        self, index: KnowsRevisions, gate: Gate, *, basis: str, today: Callable[[], date]
    ) -> None:
        self._index = index
        self._gate = gate
        self._basis = basis
        self._today = today

    async def of(
        self, inquiry: Inquiry, profile: ModelProfile, trace: Trace, request: SearchRequest
    ) -> str | None:
        """Return the key of an inquiry; None if its answer is not for others.

        None also if the index can't tell since when it has been as it is.
        """
        question, scope = normalized(request.question), request.scope
        if not question or not is_for_others(inquiry, trace):
            return None
        try:
            revision = await self._index.revision(scope.tenant, scope.spaces, scope.readers)
        except RagError as error:
            _log.warning("answer_cache.revision_unknown", why=str(error))
            return None
        if revision is None:
            return None
        asked = request.asked and replace(request.asked, text=normalized(request.asked.text))
        # Who may read what is part of the revision: readers of the same pages find the same.
        shared = replace(scope, readers=frozenset())
        return digest(
            asdict(replace(request, question=question, asked=asked, scope=shared)),
            inquiry.audience.kind,
            (inquiry.message.overheard, inquiry.outsiders),
            (profile.model, profile.calibrated_as),
            self._gate.suspended,
            self._today(),
            revision,
            self._basis,
        )


def is_for_others(inquiry: Inquiry, trace: Trace) -> bool:
    """Return whether the answer to an inquiry may be given to others who ask the same.

    Not if it rests on earlier turns, on files or on words that were masked, nor where the bot only
    practises.
    """
    message, route = inquiry.message, trace.route
    leans = bool(route.leaned_on or trace.heard or (route.search_query and inquiry.history))
    files = bool(inquiry.attached or message.attachments or inquiry.remarks)
    return not (leans or files or message.shadow or trace.masked_question is not None)


def normalized(question: str) -> str:
    """Return a question without the differences in case, blanks and end marks."""
    return " ".join(question.casefold().split()).rstrip(_END_MARKS)


def digest(*parts: object) -> str:
    """Return the SHA-256 of some values, the same in every process."""
    text = json.dumps(parts, sort_keys=True, default=_plain)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _plain(value: object) -> object:
    return sorted(map(str, value)) if isinstance(value, AbstractSet) else str(value)
