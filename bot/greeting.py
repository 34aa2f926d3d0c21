"""What the bot says before anybody asks: where it joins, to who opens its page."""

from __future__ import annotations

from dataclasses import dataclass

HELLO = (
    "Hello! Mention me with a question, and I answer in its thread from the company's pages, with "
    "the sources. If I am not sure, I say so."
)

CHAT_HELLO = (
    "Hello! Mention me with a question, and I answer here from the company's pages, with the "
    "sources. If I am not sure, I say so."
)
"""Where several people are, and there are no threads."""

PERSONAL_HELLO = (
    "Hello! Write me a question, such as how to reset a password, and I answer from the company's "
    "pages that you may read, with the sources. If I am not sure, I say so, and you can ask a "
    "person."
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question that is offered: what is shown, and what is then said."""

    title: str
    message: str


PROMPTS = (
    Prompt("What can you help with?", "What can you help me with?"),
    Prompt("Reset a password", "How do I reset my password?"),
    Prompt("Ask a person", "human"),
)
