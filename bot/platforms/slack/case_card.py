"""Render the card of a case for the escalation channel, and the modals for its texts. Pure.

Text written by people or copied from pages is escaped: nothing in it is live in Slack.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from bot.answering.permitted_views import EarlierExchange, SearchFinding
from bot.chat.excerpts import excerpt
from bot.chat.response_view import ESCALATION_REASONS, case_pages, web_url
from bot.chat.thread_replies import THREAD_IS_ASKED_ABOUT
from bot.chat.votes import JUDGED_INTRO, judgement_text
from bot.domain.cases import Act, Case, CaseStep
from bot.domain.markdown import clip, disarm, split, without_direction_marks
from bot.domain.messages import Message
from bot.domain.outcomes import question_text
from bot.domain.texts import changed, join_texts, tr
from bot.escalations.case_view import (
    KEEP_LABEL,
    KEEP_ON_BOARD,
    KEEP_QUESTION,
    CaseButton,
    CaseLinks,
    CaseView,
    acts_in,
    askers_text,
    buttons_for_people,
    card_buttons,
    case_form,
    hidden_pages,
    is_keepable,
    keep_link,
    pages_heading,
    state_since,
    status_text,
    step_label,
)
from bot.escalations.casework import LONGEST_REPLY
from bot.escalations.lifecycle import display_name
from bot.platforms.slack.actions.interactivity import input_block, modal, text_input
from bot.platforms.slack.payloads.actions import (
    ASSIGN_FORM,
    CASE_ASK_MORE,
    CASE_ASSIGN,
    CASE_CLAIM,
    CASE_DECLINE,
    CASE_KEEP,
    CASE_NOTE,
    CASE_RELEASE,
    CASE_REPLY,
    CASE_RESOLVE,
    CASE_SEE_MORE,
    DECLINE_FORM,
    NOTE_FORM,
    REPLY_FORM,
)
from bot.platforms.slack.payloads.events import is_command
from bot.platforms.slack.payloads.markup import bold, escaped, escaped_label, inert, to_mrkdwn
from bot.platforms.slack.rendering import (
    SECTION_LIMIT,
    Block,
    MessageForm,
    MessageForms,
    actions,
    button,
    context,
    plain_text,
    section,
    source_lines,
)

CARD_BUTTONS: Mapping[Act, str] = {
    "claim": CASE_CLAIM,
    "release": CASE_RELEASE,
    "reply": CASE_REPLY,
    "resolve": CASE_RESOLVE,
    "decline": CASE_DECLINE,
    "assign": CASE_ASSIGN,
    "note": CASE_NOTE,
    "ask_more": CASE_ASK_MORE,
    "see_more": CASE_SEE_MORE,
}
"""The action ids of a card's buttons."""

_QUESTION_LIMIT = 2_000
_ALONE_LIMIT = 3_900
"""Slack's limit is 4,000 characters of text when a message is edited."""

_BLOCKS_LIMIT = 9_000
"""Slack's limit is about 13,000 characters over all blocks; state and buttons are extra."""

_MOST_STEPS = 3
_LINE_LENGTH = 250
_ANSWER_LENGTH = 600
_STEP = 10
_QUOTED = re.compile(r"^(?:> ?)+", re.MULTILINE)
_USER = re.compile(r"[UW][A-Z0-9]{2,}")


def case_card(message: Message, view: CaseView, links: CaseLinks, *, now: datetime) -> MessageForms:
    """Return the card of a case in its current state, with buttons where Slack accepts them."""
    question = _question(message, view, links)
    found = [
        *_missing_from_pages(view.finding),
        *_judgement(view),
        *_pages(view.finding, links, now),
        *_before(view.before),
    ]
    state = join_texts("\n", [_state(view), *_history(view.steps), *_keep(view, links)])
    parts = [each for part in (question, *found) for each in split(part, SECTION_LIMIT)]
    # The context is cut between lines, so that no mark is broken.
    blocks = (*map(section, _fitting(parts)), context(split(state, SECTION_LIMIT)[0]))
    text = split(join_texts("\n\n", [question, state, *found]), _ALONE_LIMIT)[0]
    pressed = _buttons(view)
    with_buttons = (MessageForm(text, (*blocks, pressed)),) if pressed else ()
    return (*with_buttons, MessageForm(text, blocks), MessageForm(text))


def time_ago(at: datetime) -> str:
    """Return a relative time that Slack keeps current, with the UTC time as its fallback."""
    return f"<!date^{int(at.timestamp())}^{{ago}}|{at.astimezone(UTC):%d %b, %H:%M} UTC>"


def _fitting(parts: Sequence[str]) -> Iterator[str]:
    """Yield the parts that fit in one Slack message; the last are left out first."""
    left = _BLOCKS_LIMIT
    for part in parts:
        left -= len(part)
        if left >= 0:
            yield part


def _question(message: Message, view: CaseView, links: CaseLinks) -> str:
    case = view.case
    words = without_direction_marks(question_text(case.question))
    text = split(words, _QUESTION_LIMIT, lambda part: len(escaped(part)))[0]
    opening = tr(
        "*A question for a person* from {who}: {reason}",
        who=join_texts("", (_asker(message, view), case.asker_mark)),
        reason=ESCALATION_REASONS[case.reason],
    )
    where: str = _where(message, links)
    if buttons_for_people(case):
        where = join_texts(" \u00b7 ", (where, THREAD_IS_ASKED_ABOUT))
    askers = askers_text(case)
    asked = [changed(askers, "*{}*".format)] if askers else []
    return join_texts("\n", (opening, _quoted(text), *asked, where))


def _asker(message: Message, view: CaseView) -> str:
    if _USER.fullmatch(message.author.id):
        return f"<@{message.author.id}>"
    name = without_direction_marks(view.case.asker_name or message.author.id)
    return escaped_label(clip(name, _LINE_LENGTH))


def _where(message: Message, links: CaseLinks) -> str:
    thread: str = tr("Asked in a direct message") if message.private else tr("Asked in a channel")
    if is_command(message):
        thread = tr("Asked with a command")
    if links.thread:
        thread = _linked(links.thread, tr("Open thread"))
    board = web_url(links.board)
    if not board:
        return thread
    return join_texts(" \u00b7 ", (thread, _linked(board, tr("Open on the board"))))


def _linked(url: str, label: str) -> str:
    return join_texts("", (f"<{url}|", label, ">"))


def _missing_from_pages(finding: SearchFinding | None) -> list[str]:
    """Return what the given answer says is missing from the pages."""
    if finding is None or not finding.missing:
        return []
    missing = _line(excerpt(finding.missing, _LINE_LENGTH))
    return [tr("*The wiki doesn't say:* {missing}", missing=missing)]


def _judgement(view: CaseView) -> list[str]:
    """Return why the asker judged the given answer as no help."""
    if view.judged is None:
        return []
    return [join_texts(" ", (bold(JUDGED_INTRO), _line(judgement_text(view.judged))))]


def _pages(finding: SearchFinding | None, links: CaseLinks, now: datetime) -> list[str]:
    """Return the found pages that everyone may read, split into pieces that fit a section."""
    if finding is None:
        return []
    lines = source_lines(case_pages(finding, links.public_url), now)
    if hidden := hidden_pages(finding):
        lines.append(join_texts("", ("_", hidden, "_")))
    if not lines:
        return []
    listed = join_texts("\n", [bold(pages_heading(finding)), *lines])
    return [part for part in split(listed, SECTION_LIMIT) if part]


def _before(exchanges: Sequence[EarlierExchange]) -> list[str]:
    """Return the earlier exchanges, each a part of its own: one that has no room is left out."""
    said = [_exchange(each) for each in exchanges]
    if not said:
        return []
    return [join_texts("\n", (tr("*Conversation so far*"), said[0])), *said[1:]]


def _exchange(exchange: EarlierExchange) -> str:
    answer: str = tr("_an answer from pages that not everyone can read_")
    if not exchange.withheld:
        answer = _answer(_QUOTED.sub("", exchange.answer)) or tr("_no answer_")
    return join_texts("", ("\u2022 ", _line(question_text(exchange.question)), "\n\u2192 ", answer))


def _answer(text: str) -> str:
    """Return the beginning of an answer, with its code and tables whole or left out."""
    safe = disarm(without_direction_marks(text))
    return to_mrkdwn(excerpt(safe, _ANSWER_LENGTH, lambda part: len(escaped(part))))


def _history(steps: Sequence[CaseStep]) -> list[str]:
    """Return the last steps of people and the asker, with their words."""
    return [_step(step) for step in acts_in(steps)[-_MOST_STEPS:]]


def _step(step: CaseStep) -> str:
    name = inert(without_direction_marks(display_name(step.actor.name if step.actor else "")))
    words = f": {_line(step.text)}" if step.text else ""
    did = join_texts(" ", (name, inert(step_label(step)), time_ago(step.at)))
    return join_texts("", (did, words))


def _state(view: CaseView) -> str:
    status = bold(without_direction_marks(status_text(view)))
    return join_texts(" \u00b7 ", (status, time_ago(state_since(view.case))))


def _keep(view: CaseView, links: CaseLinks) -> list[str]:
    """Return the link that keeps the answer of an answered case on the board."""
    link = web_url(keep_link(view, links.public_url))
    return [join_texts(" ", (KEEP_QUESTION, _linked(link, KEEP_ON_BOARD)))] if link else []


def with_case_buttons(forms: MessageForms, case: Case) -> MessageForms:
    """Return a reminder with the buttons of a waiting case, for who does not see its card."""
    offered = _offered(case)
    richest = forms[0]
    if not offered:
        return forms
    return (replace(richest, blocks=(*richest.blocks, actions(offered))), *forms)


def _buttons(view: CaseView) -> Block | None:
    offered = _as_buttons(view.case, card_buttons(view))
    if is_keepable(view):
        offered.append(button(KEEP_LABEL, CASE_KEEP, view.case.interaction_id))
    return actions(offered) if offered else None


def _offered(case: Case) -> list[Block]:
    return _as_buttons(case, buttons_for_people(case))


def _as_buttons(case: Case, offers: Sequence[CaseButton]) -> list[Block]:
    return [
        button(each.label, CARD_BUTTONS[each.act], case.interaction_id, primary=each.first)
        for each in offers
    ]


def _line(text: str) -> str:
    """Return text on one line without live markup; cut text ends in a mark."""
    return changed(text, _plain_line)


def _plain_line(text: str) -> str:
    line = disarm(without_direction_marks(text))
    for room in range(_LINE_LENGTH, 0, -_STEP):
        shown = escaped_label(clip(line, room))
        if len(shown) <= _LINE_LENGTH:
            return shown
    return ""


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in to_mrkdwn(disarm(text)).split("\n"))


TEXT_FIELD = "words"
"""The action id of the text field, and the id of its block."""

ASSIGNEE_FIELD = "colleague"
"""The action id of the field for a colleague, and the id of its block."""

CASE_MODALS: Mapping[str, Act] = {
    REPLY_FORM: "reply",
    DECLINE_FORM: "decline",
    ASSIGN_FORM: "assign",
    NOTE_FORM: "note",
}
"""The acts of the modals, by callback id."""

_MODAL_TITLES: Mapping[Act, tuple[str, str]] = {
    "reply": (REPLY_FORM, tr("Reply")),
    "decline": (DECLINE_FORM, tr("Not for us")),
    "assign": (ASSIGN_FORM, tr("Assign to a colleague")),
    "note": (NOTE_FORM, tr("Note")),
}
"""The callback ids and titles of the modals."""

_LONGEST_FIELD = 3000
"""Slack's limit for the text of one field."""

_MODAL_QUESTION_LENGTH = 1_000


def case_modal(act: Act, case: Case) -> Mapping[str, object]:
    """Return the modal for the text of an act, with the question above it."""
    form = case_form(act, case)
    question = split(case.question, _MODAL_QUESTION_LENGTH, lambda part: len(escaped(part)))[0]
    quoted = _quoted(question)
    element = {**text_input(min(LONGEST_REPLY, _LONGEST_FIELD)), "focus_on_load": True}
    colleague = {"type": "users_select", "placeholder": plain_text(tr("Someone from this channel"))}
    assignee = (input_block(ASSIGNEE_FIELD, tr("New owner"), colleague),)
    blocks = (
        section(split(quoted, 2 * _MODAL_QUESTION_LENGTH)[0]),
        *(assignee if act == "assign" else ()),
        input_block(TEXT_FIELD, form.label, element, form.hint),
    )
    name, title = _MODAL_TITLES[act]
    return modal(name, title, blocks, submit=tr("Send"), private_metadata=case.interaction_id)
