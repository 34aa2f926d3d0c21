"""The conversation so far, as prompts are given it."""

from __future__ import annotations

from rag.types import Turn

_MOST_TURNS = 6
_TURN_CHARACTERS = 600


def spoken_turns(history: tuple[Turn, ...]) -> tuple[str, ...]:
    """Return the last turns, oldest first, each with who spoke and cut to a readable length."""
    return tuple(_spoken(turn) for turn in history[-_MOST_TURNS:])


def _spoken(turn: Turn) -> str:
    cut = turn.text[:_TURN_CHARACTERS]
    return f"{turn.role}: {cut}{'…' if len(cut) < len(turn.text) else ''}"
