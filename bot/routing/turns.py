"""The conversation so far, as prompts are given it."""

from __future__ import annotations

from collections.abc import Sequence

from bot.types import Interaction
from rag.types import Turn

_MOST_TURNS = 6
_TURN_CHARACTERS = 600


def turns_of(exchanges: Sequence[Interaction], asker_id: str) -> tuple[Turn, ...]:
    """Return what was said in a thread, oldest first, to whoever asks now."""
    return tuple(
        Turn(role, text, each.id, own=each.message.author.id == asker_id)
        for each in exchanges
        if each.outcome is not None
        for role, text in (
            ("user", each.message.text),
            ("assistant", each.outcome.response.text),
        )
    )


def spoken_turns(history: tuple[Turn, ...]) -> tuple[str, ...]:
    """Return the last turns, oldest first, each with who spoke and cut to a readable length."""
    return tuple(_spoken(turn) for turn in history[-_MOST_TURNS:])


def _spoken(turn: Turn) -> str:
    cut = turn.text[:_TURN_CHARACTERS]
    return f"{turn.role}: {cut}{'…' if len(cut) < len(turn.text) else ''}"
