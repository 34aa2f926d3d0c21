"""When two questions to people are one: the key under which the same question joins a case. Pure.

A wrong match gives somebody the answer to another question, so whatever may depend on more than
its words has no key: it gets a case of its own, and a person may join them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from bot.answering.cache_keys import normalized
from bot.domain.handoff import is_person_request
from bot.domain.interactions import Trace
from bot.domain.messages import Message
from rag.text.words import content_words

_LEAST_WORDS = 2
"""Content words of a question that stands for itself: "Help please" may mean anything."""


def question_key(case_question: str, asked: Message, trace: Trace, scope: str) -> str:
    """Return what is equal for the same question, "" for one that never joins by itself.

    ``asked`` and ``trace`` are of the message whose words the case has; ``scope`` is its
    ``join_scope``. A question that leans on the conversation or on files, or that names a chosen
    option, never joins by itself.
    """
    words, route = normalized(case_question), trace.route
    if not scope or words != normalized(asked.text) or len(content_words(words)) < _LEAST_WORDS:
        return ""
    leans = route.leaned_on or route.search_query or trace.heard or asked.attachments
    if leans or asked.author.outsider or asked.shadow or is_person_request(asked):
        return ""
    return _digest([scope, words])


def join_scope(asked: Message, people: str) -> str:
    """Return what is equal for questions that one answer may go to; "" for one that stands alone.

    They were asked by colleagues on one platform and before the same readers, in direct messages or
    in one channel, and go to the same experts: ``people`` is their channel, "" for the usual one.
    """
    if asked.author.outsider or asked.shadow:
        return ""
    readers = "" if asked.private else asked.thread.channel
    return _digest([asked.thread.platform, asked.private, readers, people])


def _digest(parts: Sequence[str | bool]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
