"""Lists the questions that wait for a person, and notes which are done."""

from __future__ import annotations

from collections.abc import Sequence

from bot.commands.pausing import operator
from bot.config import Settings
from bot.records import EscalationRecord, EscalationState
from bot.store import Store, database_url, open_store

_QUESTION_CHARACTERS = 160


async def escalations(settings: Settings, *, done: str | None, everything: bool, limit: int) -> int:
    """Print what waits for a person, or resolve one. Raises InteractionUnknown."""
    store = await open_store(database_url(settings))
    try:
        if done is None:
            await _list(store, settings.tenant, everything=everything, limit=limit)
        else:
            await _resolve(store, settings.tenant, done.strip())
    finally:
        await store.close()
    return 0


async def _list(store: Store, tenant: str, *, everything: bool, limit: int) -> None:
    states: Sequence[EscalationState] = ("open", "resolved") if everything else ("open",)
    listed = await store.escalations.in_state(tenant, states, limit + 1)
    for each in listed[:limit]:
        print(_line(each))
    if not listed:
        print("No question ever went to a person." if everything else "Nothing waits for a person.")
    elif len(listed) > limit:
        print("… and more; see them with a larger --limit")


async def _resolve(store: Store, tenant: str, interaction_id: str) -> None:
    resolved = await store.escalations.settle(tenant, interaction_id, "resolved", owner=operator())
    when = resolved.changed_at.strftime("%Y-%m-%d %H:%M UTC")
    print(f"Resolved by {resolved.owner} on {when}: {_question(resolved)}")


def _line(escalation: EscalationRecord) -> str:
    when = escalation.opened_at.strftime("%Y-%m-%d %H:%M")
    platform = escalation.channel.partition(":")[0]
    state = "" if escalation.state == "open" else f"[resolved by {escalation.owner}] "
    return (
        f"{escalation.interaction_id}  {when}  {platform:<6} {escalation.reason:<16} "
        f"{state}{_question(escalation)}"
    )


def _question(escalation: EscalationRecord) -> str:
    """Return the question in one line, without what a terminal would obey."""
    words = " ".join(escalation.question.split())
    shown = (letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in words)
    return "".join(shown)[:_QUESTION_CHARACTERS]
