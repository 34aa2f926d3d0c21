"""Lists the questions that went to people, shows one, and notes which are done."""

from __future__ import annotations

from bot.commands.pausing import operator
from bot.domain.cases import Actor, Case, CaseQuery, CaseStep
from bot.domain.errors import InteractionUnknown
from bot.domain.settings import Settings
from bot.domain.types import InteractionId
from bot.escalations.lifecycle import UNSETTLED, display_name
from bot.store.store import Store, database_url, open_store, reminders_of

_QUESTION_CHARACTERS = 160
_MOMENT = "%Y-%m-%d %H:%M"


async def escalations(
    settings: Settings,
    *,
    done: str | None = None,
    shown: str | None = None,
    everything: bool,
    limit: int,
) -> int:
    """Print what is not settled, or one with its history; or resolve one.

    Raises InteractionUnknown; ActRefused for one that another person has.
    """
    store = await open_store(database_url(settings), reminders_of(settings))
    try:
        if done is not None:
            await _resolve(store, settings.tenant, InteractionId(done.strip()))
        elif shown is not None:
            await _show(store, settings.tenant, InteractionId(shown.strip()))
        else:
            await _list(store, settings.tenant, everything=everything, limit=limit)
    finally:
        await store.close()
    return 0


async def _list(store: Store, tenant: str, *, everything: bool, limit: int) -> None:
    query = CaseQuery() if everything else CaseQuery(states=UNSETTLED)
    listed = await store.escalations.find(tenant, query, limit=limit + 1)
    for each in listed[:limit]:
        print(_line(each))
    if not listed:
        print("No question ever went to a person." if everything else "Nothing waits for a person.")
    elif len(listed) > limit:
        print("… and more; see them with a larger --limit")


async def _show(store: Store, tenant: str, case_id: InteractionId) -> None:
    case = await store.escalations.get(tenant, case_id)
    if case is None:
        raise InteractionUnknown(
            f"There is no escalation {case_id!r}. Use an id from `python -m bot escalations --all`."
        )
    print(_line(case))
    for step in await store.escalations.steps(tenant, case_id):
        print(_entry(step))


async def _resolve(store: Store, tenant: str, case_id: InteractionId) -> None:
    who = operator()
    resolved = await store.escalations.act(tenant, case_id, "resolve", Actor(who, who, "expert"))
    by = (
        f" by {_plain(display_name(resolved.standing.owner_name))}"
        if resolved.standing.owner_id
        else ""
    )
    when = resolved.changed_at.strftime(f"{_MOMENT} UTC")
    print(f"Resolved{by} on {when}: {_question(resolved)}")


def _line(case: Case) -> str:
    platform = case.channel.partition(":")[0]
    return (
        f"{case.interaction_id}  {case.opened_at.strftime(_MOMENT)}  {platform:<6} "
        f"{case.reason:<16} {_state(case)}{_question(case)}"
    )


def _state(case: Case) -> str:
    """Return state and owner, where it does more than wait."""
    standing = case.standing
    if standing.state == "open":
        return ""
    by = f" by {_plain(display_name(standing.owner_name))}" if standing.owner_id else ""
    return f"[{standing.state}{by}] "


def _entry(step: CaseStep) -> str:
    parts = (step.at.strftime(_MOMENT), f"{step.step:<8}", _who(step), _plain(step.text))
    return "  " + "  ".join(part for part in parts if part).rstrip()


def _who(step: CaseStep) -> str:
    if step.actor is None:
        return ""
    nameless_asker = step.actor.role == "asker" and not step.actor.name.strip()
    return "the asker" if nameless_asker else _plain(display_name(step.actor.name))


def _question(case: Case) -> str:
    return _plain(case.question)[:_QUESTION_CHARACTERS]


def _plain(text: str) -> str:
    """Return a text in one line, without what a terminal would obey."""
    words = " ".join(text.split())
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in words
    )
