"""When two questions to people are one: the key under which the same question joins a case. Pure.

A wrong match gives somebody the answer to another question, so whatever may depend on more than
its words has no key: it gets a case of its own, and a person may join them.
"""

from __future__ import annotations

import hashlib
import json

from bot.answering.cache_keys import normalized
from bot.domain.handoff import is_person_request
from bot.domain.interactions import Trace
from bot.domain.messages import Message
from rag.text.words import content_words

_LEAST_WORDS = 2
"""Content words of a question that stands for itself: "Help please" may mean anything."""


def question_key(case_question: str, asked: Message, trace: Trace, people: str) -> str:
    """Return what is equal for the same question, "" for one that never joins by itself.

    ``asked`` and ``trace`` are of the message whose words the case has; ``people`` is the channel
    that the case is put to, "" for the usual one. The same words count as the same question only on
    one platform and before the same readers: in direct messages, or in one channel. A question that
    leans on the conversation or on files, that names a chosen option or that an outsider asked,
    never joins.
    """
    words, route = normalized(case_question), trace.route
    if words != normalized(asked.text) or len(content_words(words)) < _LEAST_WORDS:
        return ""
    leans = route.leaned_on or route.search_query or trace.heard or asked.attachments
    if leans or asked.author.outsider or asked.shadow or is_person_request(asked):
        return ""
    readers = "" if asked.private else asked.thread.channel
    parts = json.dumps([asked.thread.platform, asked.private, readers, people, words])
    return hashlib.sha256(parts.encode()).hexdigest()
