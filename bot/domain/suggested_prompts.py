"""What people are offered to ask: the same on every platform, never questions of people."""

from __future__ import annotations

from dataclasses import dataclass

from bot.domain.outcomes import PERSON_WISH
from bot.domain.texts import tr

MOST_PROMPTS = 4
"""As many as Slack shows; Teams takes more."""

_LONGEST_TITLE = 60
_LONGEST_MESSAGE = 300


@dataclass(frozen=True, slots=True)
class SuggestedPrompt:
    """A suggested question: its label, and the message it sends."""

    title: str
    message: str


DEFAULT_PROMPTS = (
    SuggestedPrompt(tr("What can you help with?"), tr("What can you help me with?")),
    SuggestedPrompt(tr("Ask a person"), PERSON_WISH),
)
"""They suit every wiki; the second one asks what it is about before anybody is asked.

Both are suggested in the language of the platform; ``as_kept`` knows the second one again, and the
router understands the first one in each language.
"""


def parse_prompts(text: str) -> tuple[SuggestedPrompt, ...]:
    """Return the prompts of a setting, the defaults for "". Raises ValueError."""
    if not text:
        return DEFAULT_PROMPTS
    prompts = tuple(_parsed(each) for each in text.split(";") if each.strip())
    if len(prompts) > MOST_PROMPTS:
        raise ValueError(f"Suggest {MOST_PROMPTS} questions at most; these are {len(prompts)}.")
    return prompts


def _parsed(text: str) -> SuggestedPrompt:
    title, equals, message = (part.strip() for part in text.partition("="))
    prompt = SuggestedPrompt(title, message if equals else title)
    if not (prompt.title and prompt.message):
        raise ValueError(f"Write {text.strip()!r} as Title=Question, or as the question alone.")
    if len(prompt.title) > _LONGEST_TITLE or len(prompt.message) > _LONGEST_MESSAGE:
        raise ValueError(
            f"Write {prompt.title!r} with a title of at most {_LONGEST_TITLE} characters, and a "
            f"question of at most {_LONGEST_MESSAGE}."
        )
    return prompt
