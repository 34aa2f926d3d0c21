"""The conversation so far, as prompts are given it."""

from __future__ import annotations

from collections.abc import Sequence

from bot.domain.types import Interaction
from bot.escalations.reading import Sight
from rag.types import Turn

_MOST_TURNS = 6
_TURN_CHARACTERS = 600


_CLOSED = "(left out: the page behind this answer is no longer open to its readers)"


def turns_of(exchanges: Sequence[Interaction], asker_id: str, seen: Sight) -> tuple[Turn, ...]:
    """Return what was said in a thread, oldest first, as whoever reads the reply may know it now.

    What rests on a page that they may not read any more is left out; so is a question that only
    names such a page, which was offered and chosen.
    """
    return tuple(
        turn
        for each in exchanges
        if each.outcome is not None and (asked := seen.asked(each)) is not None
        for turn in _exchange(
            each,
            asked,
            each.outcome.response.text if seen.tells(each) else _CLOSED,
            own=each.message.author.id == asker_id,
        )
    )


def _exchange(
    interaction: Interaction, asked: str, answered: str, *, own: bool
) -> tuple[Turn, Turn]:
    return (
        Turn("user", asked, interaction.id, own=own),
        Turn("assistant", answered, interaction.id, own=own),
    )


def spoken_turns(history: tuple[Turn, ...]) -> tuple[str, ...]:
    """Return the last turns, oldest first, each with who spoke and cut to a readable length."""
    return tuple(_spoken(turn) for turn in history[-_MOST_TURNS:])


def _spoken(turn: Turn) -> str:
    cut = turn.text[:_TURN_CHARACTERS]
    return f"{turn.role}: {cut}{'…' if len(cut) < len(turn.text) else ''}"
