"""Platform-independent view of a case: history, pages, buttons, reminder texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bot.answering.permitted_views import EarlierExchange, SearchFinding
from bot.domain.cases import Act, Case, CaseStatus, CaseStep, Notice, State, Step
from bot.domain.interactions import Delivery, Escalation, Feedback
from bot.domain.markdown import clip
from bot.domain.texts import Text, tr, trn
from bot.escalations.history import assignee_of, standing_replies
from bot.escalations.lifecycle import OWNED, display_name
from bot.escalations.showing_more import request_in


@dataclass(frozen=True, slots=True)
class CaseView:
    """A case with its history and the earlier exchanges of its thread.

    ``finding`` is None if the question has no outcome any more, or the reader's access can't be
    checked. ``before`` are the earlier exchanges, oldest first. ``judged`` is the asker's thumbs
    down on the answer, if they said why. ``more``: they asked more here before, which can be seen
    if they agree.
    """

    case: Case
    steps: tuple[CaseStep, ...]
    finding: SearchFinding | None
    before: tuple[EarlierExchange, ...]
    judged: Feedback | None = None
    more: bool = False


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
    "open": tr("asked"),
    "claim": tr("claimed it"),
    "release": tr("released it"),
    "assign": tr("assigned it"),
    "note": tr("left an internal note"),
    "reply": tr("replied"),
    "amend": tr("corrected their reply"),
    "retract": tr("retracted their reply"),
    "resolve": tr("resolved it"),
    "decline": tr("declined it"),
    "reopen": tr("reopened it"),
    "ask_more": tr("asked to see more of the conversation"),
    "show_more": tr("agreed to show it"),
    "keep_more": tr("declined to show it"),
    "see_more": tr("saw the earlier messages"),
    "ping": tr("A reminder was sent"),
    "second_level": tr("The second level was asked"),
    "join": tr("joined it to a case of the same question"),
    "split": tr("made it a case of its own"),
    "joined": tr("Somebody else asked the same"),
    "left": tr("Somebody who asked the same left"),
    "lead": tr("It leads the cases of others who asked the same"),
}
"""Text after the expert's name in the history, as experts read it; see ``step_label``."""


def step_label(step: CaseStep) -> str:
    """Return the text after the name of a step's actor, with the name of an assignee."""
    if step.detail.to is None:
        return STEP_LABELS[step.step]
    return tr("assigned it to {who}", who=display_name(assignee_of(step.detail)))


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
    "reply": CaseForm(tr("Your reply"), tr("Posted under your name where the question was asked.")),
    "decline": CaseForm(tr("Why, or who to ask instead"), tr("Sent to the asker with your name.")),
    "assign": CaseForm(tr("Why, and what is known so far"), tr("The asker never sees it.")),
    "note": CaseForm(tr("Your note"), tr("The asker never sees it.")),
}
"""The acts for which a text is asked."""


def case_form(act: Act, case: Case) -> CaseForm:
    """Return the form for the text of an act on a case, which says who gets a reply."""
    form = CASE_FORMS[act]
    return replace(form, hint=_TO_ALL) if act == "reply" and is_shared(case) else form


def is_shared(case: Case) -> bool:
    """Return whether a reply goes to more people than the asker of a case."""
    return case.askers > 1 or case.joined_to is not None


_TO_ALL = tr(
    "It is posted under your name to everyone who asked and may read it, where they asked."
)


def askers_text(case: Case) -> str:
    """Return how many people asked a leading case's question, "" for one."""
    if case.askers == 1:
        return ""
    return trn(
        "{n} person asked this. An answer goes to each who may read it, where they asked.",
        "{n} people asked this. An answer goes to each who may read it, where they asked.",
        case.askers,
    )


NO_COLLEAGUE = tr(
    "Choose a colleague. Guests, bots and people from other companies can't be assigned."
)
NOT_A_MEMBER = tr("They can't see this channel. Invite them first, or choose someone from it.")
NO_SUCH_MEMBER = tr("Nobody in this channel has that name or address. Enter their email address.")
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


KEEP_QUESTION = tr("Should the next person who asks get this answer?")
KEEP_LABEL = tr("Keep as answer")
KEEP_ON_BOARD = tr("Keep it on the board")

_REPLY = CaseButton("reply", tr("Reply"))
_RESOLVE = CaseButton("resolve", tr("Resolve"))
_DECLINE = CaseButton("decline", tr("Not for us"))
_RELEASE = CaseButton("release", tr("Release"))
_ASSIGN = CaseButton("assign", tr("Assign to …"))
_NOTE = CaseButton("note", tr("Note"))
_MORE = (_ASSIGN, _NOTE)
_WAITING = (CaseButton("claim", tr("Claim"), first=True), _REPLY, _RESOLVE, _DECLINE, *_MORE)
_PEOPLE_BUTTONS: Mapping[State, tuple[CaseButton, ...]] = {
    "open": _WAITING,
    "reopened": _WAITING,
    "claimed": (CaseButton("reply", tr("Reply"), first=True), _RESOLVE, _DECLINE, _RELEASE, *_MORE),
    "answered": (CaseButton("reply", tr("Reply again")), _RESOLVE, _RELEASE, *_MORE),
}

ASK_MORE = CaseButton("ask_more", tr("Ask to see more"))
SEE_MORE = CaseButton("see_more", tr("See what was said"), first=True)
_CONSENT_BUTTONS = (
    CaseButton("show_more", tr("Show them"), first=True),
    CaseButton("keep_more", tr("No")),
)

_NO_LONGER = CaseButton("resolve", tr("No longer needed"))
_AGAIN = CaseButton("reopen", tr("Ask again"))
_ASKER_BUTTONS: Mapping[State, tuple[CaseButton, ...]] = {
    "open": (_NO_LONGER,),
    "reopened": (_NO_LONGER,),
    "claimed": (_NO_LONGER,),
    "answered": (CaseButton("resolve", tr("This helped, close it")), _AGAIN),
    "resolved": (_AGAIN,),
    "declined": (_AGAIN,),
}

_STATE_LABELS: Mapping[State, str] = {
    "open": tr("Waiting"),
    "reopened": tr("Reopened, not assigned"),
    "claimed": tr("Claimed"),
    "answered": tr("Answered"),
    "resolved": tr("Resolved"),
    "declined": tr("Declined"),
}


def buttons_for_people(case: Case) -> tuple[CaseButton, ...]:
    """Return the buttons of a card seen by several people, independent of the viewer.

    A case that joined another is answered with that one.
    """
    return () if case.joined_to else _PEOPLE_BUTTONS.get(case.status.state, ())


def more_button(view: CaseView) -> CaseButton | None:
    """Return the button to ask for more, or to see it; None while the asker is asked, or for none.

    Only who has the case can use it.
    """
    case = view.case
    if case.status.state not in OWNED:
        return None
    request = request_in(view.steps)
    if request is None:
        return ASK_MORE if view.more else None
    return SEE_MORE if request.allowed else None


def card_buttons(view: CaseView) -> tuple[CaseButton, ...]:
    """Return all buttons of acts on a card, independent of the viewer."""
    offered, more = buttons_for_people(view.case), more_button(view)
    return offered if more is None else (*offered, more)


def buttons_of_request() -> tuple[CaseButton, ...]:
    """Return the asker's buttons below a request to see more."""
    return _CONSENT_BUTTONS


def buttons_for_asker(state: State) -> tuple[CaseButton, ...]:
    """Return the asker's buttons."""
    return _ASKER_BUTTONS.get(state, ())


def pages_heading(finding: SearchFinding) -> str:
    """Return the heading of a card's pages: cited in an answer or guess, or only retrieved."""
    if finding.gate == "passed":
        return tr("Pages of the answer")
    if finding.gate == "unsure":
        return tr("Pages of the guess")
    return tr("Pages found (not confirmed)")


def hidden_pages(finding: SearchFinding) -> str:
    """Return a sentence on the pages that a card leaves out, "" if there are none."""
    if not finding.hidden:
        return ""
    return trn(
        "{n} more page was found that not everyone can read.",
        "{n} more pages were found that not everyone can read.",
        finding.hidden,
    )


_JOINED = tr("Joined to a case of the same question, which is answered for all")


def status_text(view: CaseView) -> str:
    """Return the state of a case and its owner, such as "Claimed by Anna Lopez"."""
    case = view.case
    state = case.status.state
    if case.joined_to:
        return _JOINED
    last = last_act(view.steps)
    if state == "resolved" and last is not None and last.actor and last.actor.role == "asker":
        return tr("Closed by the asker")
    if not case.status.owner_id:
        return _STATE_LABELS[state]
    who = display_name(case.status.owner_name)
    return tr("{state} by {who}", state=_STATE_LABELS[state], who=who)


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
_HOUR, _DAY = 60, 1440


def reminder_text(case: Case, notice: Notice, now: datetime) -> tuple[str, str]:
    """Return the subject and the rest of a reminder: "Nobody has ...", "; it has ...".

    They have the names and words of people as they are.
    """
    if notice.step == "open":
        return (
            tr("An answer could not be delivered"),
            tr(", so the asker is still waiting for one."),
        )
    if notice.step == "show_more":
        who = display_name(case.asker_name)
        return (
            tr("{name} agreed to show earlier messages", name=who),
            tr(
                "; {name} can see them once, with the button \u201c{button}\u201d on the card.",
                name=display_name(case.status.owner_name),
                button=SEE_MORE.label,
            ),
        )
    if notice.step == "assign":
        by = display_name(notice.actor.name if notice.actor else "")
        subject = tr(
            "{who} assigned a question to {to}", who=by, to=display_name(assignee_of(notice.detail))
        )
        return subject, f": {clip(notice.text, _REASON_LENGTH)}"
    waited = waiting_time(now - state_since(case))
    if notice.step == "second_level":
        return (
            tr("Nobody has claimed this question"),
            tr(" on the first level; it has been waiting for {time}.", time=waited),
        )
    if notice.step == "reopen":
        return tr("A question was reopened"), tr(" and is not assigned to anyone.")
    return (
        tr("Nobody has claimed this question yet"),
        tr("; it has been waiting for {time}.", time=waited),
    )


def platform_of(case: Case) -> str:
    """Return the platform that a case comes from."""
    return case.channel.partition(":")[0]


def waiting_time(waited: timedelta) -> Text:
    """Return a duration in minutes, then hours, then days."""
    minutes = max(1, round(waited.total_seconds() / 60))
    if minutes >= 2 * _DAY:
        return trn("{n} day", "{n} days", minutes // _DAY)
    if minutes >= 2 * _HOUR:
        return trn("{n} hour", "{n} hours", minutes // _HOUR)
    return trn("{n} minute", "{n} minutes", minutes)
