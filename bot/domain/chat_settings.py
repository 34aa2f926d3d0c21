"""Settings of what chats offer people to ask, and of how Teams shows it."""

from __future__ import annotations

from pydantic import Field, field_validator

from bot.domain.learning_settings import LearningSettings
from bot.domain.suggested_prompts import SuggestedPrompt, parse_prompts
from bot.domain.texts import tr

PLACEHOLDER = tr("Ask about IT, HR, travel \u2026")

EXAMPLES = (
    "vpn says error 809, what now?; How do I reset my password?; Who approves travel?; "
    "Can I talk to a human?"
)


class ChatSettings(LearningSettings):
    """What is offered where a conversation begins."""

    suggested_prompts: str = Field(
        "",
        description="Up to four questions that Slack, Teams and the web chat suggest, separated by "
        "semicolons, each as Title=Question or the question alone; unset: two general ones.",
    )
    chat_placeholder: str = Field(
        PLACEHOLDER, max_length=100, description="Text in the empty input field of the web chat."
    )
    chat_examples: str = Field(
        EXAMPLES,
        description="Questions that the web chat suggests instead of SUGGESTED_PROMPTS, separated "
        "by semicolons; a single semicolon: none.",
    )
    teams_hello: bool = Field(
        default=False,
        description="Post a welcome message when the app is added, and leave the suggested prompts "
        "out of its package (Microsoft allows one of them). TEAMS_DEV_MODE always posts it.",
    )
    teams_split_cards: bool = Field(
        default=False,
        description="Post the buttons of an answer in a separate message below it. Otherwise both "
        "are one message: the end of a stream in personal chats, one card in channels.",
    )

    @field_validator("suggested_prompts")
    @classmethod
    def _check_prompts(cls, value: str) -> str:
        parse_prompts(value)
        return value

    @property
    def prompts(self) -> tuple[SuggestedPrompt, ...]:
        """What is offered where a conversation begins."""
        return parse_prompts(self.suggested_prompts)

    @property
    def placeholder(self) -> str:
        """The text in the empty field of the web chat; a default that was read is a plain str."""
        return PLACEHOLDER if self.chat_placeholder == PLACEHOLDER else self.chat_placeholder

    @property
    def chat_starters(self) -> tuple[str, ...]:
        """The questions that the web chat offers."""
        if self.suggested_prompts and "chat_examples" not in self.model_fields_set:
            return tuple(prompt.message for prompt in self.prompts)
        return tuple(filter(None, map(str.strip, self.chat_examples.split(";"))))
