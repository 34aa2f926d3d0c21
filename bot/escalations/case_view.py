"""Platform-independent view of a case: history, pages, buttons, reminder texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bot.answering.permitted_views import EarlierExchange, SearchFinding
from bot.domain.cases import Act, Case, CaseStatus, CaseStep, Notice, State, Step
from bot.domain.interactions import Delivery, Escalation, Feedback
from bot.domain.markdown import clip
from bot.escalations.history import assignee_of, standing_replies
from bot.escalations.lifecycle import display_name


@dataclass(frozen=True, slots=True)
class CaseView:
    """A case with its history and the earlier exchanges of its thread.

    ``finding`` is None if the question has no outcome any more, or the reader's access can't be
    checked. ``before`` are the earlier exchanges, oldest first. ``judged`` is the asker's thumbs
    down on the answer, if they said why.
    """

    case: Case
    steps: tuple[CaseStep, ...]
    finding: SearchFinding | None
    before: tuple[EarlierExchange, ...]
    judged: Feedback | None = None


def is_keepable(view: CaseView) -> bool:
    """Return whether an expert answered a case that stands answered: others may want the answer."""
    return any(each.text for each in standing_replies(view.steps)) and view.case.status.state in {
        "answered",
        "resolved",
    }


def view_of_delivery(delivery: Delivery) -> CaseView:
    """Return the view of a question as delivered, for when the case can't be read.

    Pages found in a private conversation are left out: the asker may read them, others perhaps not.
    """
    message, response = delivery.message, delivery.outcome.response
    escalated = response if isinstance(response, Escalation) else None
    case = Case(
        interaction_id=delivery.interaction_id,
        tenant=message.thread.tenant,
        status=CaseStatus("open"),
        reason=escalated.reason if escalated else "asked_for_human",
        question=escalated.question if escalated else message.text,
        asker_id=message.author.id,
        asker_name=message.author.name,
        channel=f"{message.thread.platform}:{message.thread.channel}",
        private=message.private,
        opened_at=message.received_at,
        changed_at=message.received_at,
        outsider=(delivery.outcome.asker or message.author).outsider,
    )
    finding = SearchFinding(
        interaction_id=delivery.interaction_id,
        question=case.question,
        gate="",
        confidence=None,
        threshold=None,
        suggestions=escalated.suggestions if escalated and not message.private else (),
    )
    return CaseView(case=case, steps=(), finding=finding, before=())


STEP_LABELS: Mapping[Step, str] = {
    "open": "asked",
    "claim": "claimed it",
    "release": "released it",
    "assign": "gave it to",
    "note": "noted for those who answer",
    "reply": "replied",
    "amend": "corrected their reply",
    "retract": "took their reply back",
    "resolve": "resolved it",
    "decline": "declined it",
    "reopen": "reopened it",
    "ping": "People were reminded",
    "second_level": "The second level was asked",
    "join": "joined it to a case of the same question",
    "split": "made it a case of its own",
    "joined": "Somebody else asked the same",
    "left": "One who asked the same left",
    "lead": "Leads what others asked, too",
}
"""Text after the expert's name in the history, as experts read it; see ``step_label``."""


def step_label(step: CaseStep) -> str:
    """Return the text after the name of a step's actor, with the name of an assignee."""
    if step.detail.to is None:
        return STEP_LABELS[step.step]
    return f"{STEP_LABELS[step.step]} {display_name(assignee_of(step.detail))}"


STATE_AFTER_STEP: Mapping[Step, State] = {
    "claim": "claimed",
    "assign": "claimed",
    "reply": "answered",
    "amend": "answered",
    "resolve": "resolved",
    "decline": "declined",
    "reopen": "reopened",
}
"""State of a case after a step that its asker is notified of."""


@dataclass(frozen=True, slots=True)
class CaseButton:
    """A button's act and label; ``first``: it is the primary button."""

    act: Act
    label: str
    first: bool = False


@dataclass(frozen=True, slots=True)
class CaseForm:
    """The form for the text of an act: the label of its field, and a hint on who reads the text."""

    label: str
    hint: str = ""


CASE_FORMS: Mapping[Act, CaseForm] = {
    "reply": CaseForm("Your reply", "It is posted where the question was asked, in your name."),
    "decline": CaseForm("Why, or who to ask", "The one who asked reads it, with your name."),
    "assign": CaseForm("Why, and what is known so far; the one who asked never reads it"),
    "note": CaseForm("Your note; the one who asked never reads it"),
}
"""The acts for which a text is asked."""


def case_form(act: Act, case: Case) -> CaseForm:
    """Return the form for the text of an act on a case, which says how many get a reply."""
    form = CASE_FORMS[act]
    return replace(form, hint=_TO_ALL) if act == "reply" and case.askers > 1 else form


_TO_ALL = "It is posted in your name to each who asked, where they asked."


def askers_text(case: Case) -> str:
    """Return how many people asked a leading case's question, "" for one."""
    if case.askers == 1:
        return ""
    return f"{case.askers} people asked this. An answer goes to each, where they asked."


NO_COLLEAGUE = "Choose a colleague: guests, bots and people of other companies can't have it."
NOT_A_MEMBER = "They don't see this channel. Invite them first, or choose somebody of it."
NO_SUCH_MEMBER = "No colleague of this channel has that name or address. Write the address."
"""Refusals of an assignment."""


@dataclass(frozen=True, slots=True)
class CaseLinks:
    """Links to a question: its thread and its page of the board; "" for none.

    ``public_url`` is the base URL of our own pages.
    """

    thread: str = ""
    board: str = ""
    public_url: str | None = None


def keep_link(view: CaseView, public_url: str | None) -> str:
    """Return the URL at which an expert keeps the answer of a case; "" while there is none."""
    if public_url is None or not is_keepable(view):
        return ""
    return f"{public_url}/board/answers/new?case={view.case.interaction_id}"


KEEP_QUESTION = "Should the next one who asks get this?"
KEEP_LABEL = "Keep as answer"
KEEP_ON_BOARD = "Keep it on the board"

_REPLY = CaseButton("reply", "Reply")
_RESOLVE = CaseButton("resolve", "Resolve")
_DECLINE = CaseButton("decline", "Not for us")
_RELEASE = CaseButton("release", "Release")
_ASSIGN = CaseButton("assign", "Give to\u2026")
_NOTE = CaseButton("note", "Note")
_MORE = (_ASSIGN, _NOTE)
_WAITING = (CaseButton("claim", "Claim", first=True), _REPLY, _RESOLVE, _DECLINE, *_MORE)
_PEOPLE_BUTTONS: Mapping[State, tuple[CaseButton, ...]] = {
    "open": _WAITING,
    "reopened": _WAITING,
    "claimed": (CaseButton("reply", "Reply", first=True), _RESOLVE, _DECLINE, _RELEASE, *_MORE),
    "answered": (CaseButton("reply", "Reply again"), _RESOLVE, _RELEASE, *_MORE),
}

_NO_LONGER = CaseButton("resolve", "I no longer need it")
_AGAIN = CaseButton("reopen", "Ask again")
_ASKER_BUTTONS: Mapping[State, tuple[CaseButton, ...]] = {
    "open": (_NO_LONGER,),
    "reopened": (_NO_LONGER,),
    "claimed": (_NO_LONGER,),
    "answered": (CaseButton("resolve", "This helped, close it"), _AGAIN),
    "resolved": (_AGAIN,),
    "declined": (_AGAIN,),
}

_STATE_LABELS: Mapping[State, str] = {
    "open": "Waits for somebody",
    "reopened": "Opened again, nobody has it",
    "claimed": "Claimed",
    "answered": "Answered",
    "resolved": "Resolved",
    "declined": "Declined",
}


def buttons_for_people(case: Case) -> tuple[CaseButton, ...]:
    """Return the buttons of a card seen by several people, independent of the viewer.

    A case that joined another is answered with that one.
    """
    return () if case.joined_to else _PEOPLE_BUTTONS.get(case.status.state, ())


def buttons_for_asker(state: State) -> tuple[CaseButton, ...]:
    """Return the asker's buttons."""
    return _ASKER_BUTTONS.get(state, ())


def pages_heading(finding: SearchFinding) -> str:
    """Return the heading of a card's pages: cited in an answer or guess, or only retrieved."""
    if finding.gate == "passed":
        return "Pages of the answer that was given"
    if finding.gate == "unsure":
        return "Pages of the guess that was shown"
    return "Pages found (not confirmed)"


def hidden_pages(finding: SearchFinding) -> str:
    """Return a sentence on the pages that a card leaves out, "" if there are none."""
    if not finding.hidden:
        return ""
    pages = "page was" if finding.hidden == 1 else "pages were"
    return f"{finding.hidden} more {pages} found that not everyone may read."


_JOINED = "Joined to a case of the same question, which is answered for all"


def status_text(view: CaseView) -> str:
    """Return the state of a case and its owner, such as "Claimed by Anna Lopez"."""
    case = view.case
    state = case.status.state
    if case.joined_to:
        return _JOINED
    last = last_act(view.steps)
    if state == "resolved" and last is not None and last.actor and last.actor.role == "asker":
        return "Closed by the one who asked"
    by = f" by {display_name(case.status.owner_name)}" if case.status.owner_id else ""
    return f"{_STATE_LABELS[state]}{by}"


def state_since(case: Case) -> datetime:
    """Return the start of a case's current state; a released case waits since it was opened."""
    return case.opened_at if case.status.state == "open" else case.changed_at


_NOBODYS: frozenset[Step] = frozenset({"open", "ping", "second_level", "joined", "left", "lead"})


def acts_in(steps: Sequence[CaseStep]) -> tuple[CaseStep, ...]:
    """Return the acts of experts and asker, oldest first, without the opening and reminders."""
    return tuple(step for step in steps if step.step not in _NOBODYS)


def last_act(steps: Sequence[CaseStep]) -> CaseStep | None:
    """Return the last act of an expert or the asker; None without any."""
    return next(reversed(acts_in(steps)), None)


_REASON_LENGTH = 500


def reminder_text(case: Case, notice: Notice, now: datetime) -> tuple[str, str]:
    """Return the subject and the rest of a reminder: "Nobody has ...", "; it has ...".

    They have the names and words of people as they are.
    """
    if notice.step == "open":
        return "An answer could not be delivered", ", so its asker still waits for one."
    if notice.step == "assign":
        by = display_name(notice.actor.name if notice.actor else "")
        return f"{by} gave a question to {display_name(assignee_of(notice.detail))}", (
            f": {clip(notice.text, _REASON_LENGTH)}"
        )
    waited = waiting_time(now - state_since(case))
    if notice.step == "second_level":
        return "Nobody has taken this question", f" on the first level; it has waited for {waited}."
    if notice.step == "reopen":
        return "A question was opened again", " and nobody has it."
    return "Nobody has taken this question yet", f"; it has waited for {waited}."


def platform_of(case: Case) -> str:
    """Return the platform that a case comes from."""
    return case.channel.partition(":")[0]


def waiting_time(waited: timedelta) -> str:
    """Return a duration in minutes, then hours, then days."""
    minutes = max(1, round(waited.total_seconds() / 60))
    for length, name in ((1440, "day"), (60, "hour")):
        if minutes >= 2 * length:
            return f"{minutes // length} {name}s"
    return f"{minutes} minute{'s' if minutes > 1 else ''}"
