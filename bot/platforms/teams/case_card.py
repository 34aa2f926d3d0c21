"""Render the card of a case, with its buttons and the forms they unfold; pure.

Text of people and pages is inert. A form carries the version of the case that its writer saw.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.answering.permitted_views import EarlierExchange, SearchFinding
from bot.chat.excerpts import excerpt
from bot.chat.response_view import ESCALATION_REASONS, SourceLine, case_pages, web_url
from bot.chat.thread_replies import THREAD_IS_ASKED_ABOUT
from bot.chat.votes import JUDGED_INTRO, judgement_text
from bot.domain.cases import THREAD_NOT_READ, Act, Case, CaseStep
from bot.domain.formatting import freshness
from bot.domain.markdown import blocks, clip, is_fence, split
from bot.domain.messages import Message
from bot.domain.outcomes import question_text
from bot.domain.texts import join_texts, tr
from bot.escalations.case_view import (
    CASE_FORMS,
    KEEP_LABEL,
    KEEP_ON_BOARD,
    KEEP_QUESTION,
    CaseButton,
    CaseForm,
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
from bot.platforms.teams.payloads.actions import CASE_ACTIONS, KEEP_ANSWER
from bot.platforms.teams.payloads.activity import Body, Json, kind_of, read_reference, text_at
from bot.platforms.teams.rendering.answer_blocks import code_elements
from bot.platforms.teams.rendering.cards import (
    card,
    dialog_button,
    execute_button,
    form_button,
    inert_text,
    text_block,
    text_input,
    text_run,
    text_run_paragraphs,
    text_runs,
    with_card,
    without_backticks,
)
from bot.platforms.teams.rendering.text import (
    CONTENT_BUDGET,
    markdown_link,
    size,
    teams_label,
    without_card_functions,
)
from rag.parts import Code

VERSION_KEY = "version"
"""Key in a form's data for the version of the case that its writer saw."""


def case_buttons(view: CaseView) -> Sequence[Json]:
    """Return the available actions of a case as buttons."""
    offered = [_case_button(offer, view.case) for offer in card_buttons(view)]
    keep = dialog_button(KEEP_LABEL, KEEP_ANSWER, view.case.interaction_id)
    return [*offered, keep] if is_keepable(view) else offered


def with_case_buttons(reminder: Json, case: Case) -> Json:
    """Return a reminder as a card with a case's buttons, for who does not see the case's own."""
    said = text_block(text_at(reminder, "text"))
    return with_card({"type": "message", "summary": _OPENING}, card([said], _offered(case)))


def _offered(case: Case) -> Sequence[Json]:
    return [_case_button(offer, case) for offer in buttons_for_people(case)]


def words_in(act: Act, data: Body) -> str:
    """Return the text entered in the form of an action."""
    return text_at(data, _field_name(act))


def _case_button(offer: CaseButton, case: Case) -> Json:
    if offer.act in CASE_FORMS:
        form = case_form(offer.act, case)
        return form_button(offer.label, *_form_elements(form, offer.act, case), first=offer.first)
    return execute_button(
        offer.label, CASE_ACTIONS[offer.act], case.interaction_id, first=offer.first
    )


def _form_elements(form: CaseForm, act: Act, case: Case) -> tuple[Sequence[Json], Sequence[Json]]:
    asked = text_input(_field_name(act), form.label, lines=True, most=LONGEST_REPLY, required=True)
    to = text_input(_ASSIGNEE_FIELD, _ASSIGNEE_LABEL, most=_LONGEST_NAME, required=True)
    data = {VERSION_KEY: str(case.version)}
    send = execute_button(tr("Send"), CASE_ACTIONS[act], case.interaction_id, first=True, **data)
    fields = [to, asked] if act == "assign" else [asked]
    hint = [text_block(form.hint, isSubtle=True)] if form.hint else []
    return [*fields, *hint], [send]


def assignee_in(data: Body) -> str:
    """Return the colleague named in the form of an assignment."""
    return text_at(data, _ASSIGNEE_FIELD).strip()


_ASSIGNEE_FIELD = "assign_to"
_ASSIGNEE_LABEL = tr("New owner: their name or email address in Teams")
_LONGEST_NAME = 200


def _field_name(act: Act) -> str:
    """Return the name of a form's field; names are unique in a card."""
    return f"{act}_words"


_QUESTION_LIMIT = 2_000
_QUESTION_BYTES = 7_000
_MOST_LINES = 20
_MOST_STEPS = 3
_LINE_LENGTH = 250
_ANSWER_LENGTH = 600
_BOLD: dict[str, object] = {"weight": "Bolder"}
_SUBTLE: dict[str, object] = {"isSubtle": True}
_QUOTED = re.compile(r"^> ?", re.MULTILINE)
_STRONG = re.compile(r"\*\*(?! )([^*\n]+)(?<! )\*\*")
"""Lines that an answer marks as decisive; a TextRun would show the stars."""
_FENCE_WITHIN = re.compile(r"^(?! {0,3}```).*```", re.MULTILINE)
"""Backticks of a fence within a line, which open no block of code."""
_OPENING = tr("A question for a person")


@dataclass(frozen=True, slots=True)
class PresserNote:
    """Why an action was refused, and the text entered with it, for its presser only."""

    remark: str = ""
    words: str = ""


def card_message(
    message: Message, view: CaseView, links: CaseLinks, *, now: datetime, read: bool = False
) -> Json:
    """Return the card of a case as a message; ``read``: messages of its thread reach the bot."""
    summary = tr("A question for a person from {who}", who=inert_text(_who(message, view)))
    shown = case_card(message, view, links, now=now, read=read)
    return with_card({"type": "message", "summary": summary}, shown)


def case_card(
    message: Message,
    view: CaseView,
    links: CaseLinks,
    *,
    now: datetime,
    note: PresserNote | None = None,
    read: bool = False,
) -> Json:
    """Return the card of a case in its current state, with the available actions.

    The pages found and the earlier exchanges are left out if the card would be too large for Teams.
    """
    # Words that their writer must not lose take the place of some of the question's.
    room = _QUESTION_BYTES if note is None or not note.words else _QUESTION_BYTES // 2
    first = [*_presser_note(note), *_question(message, view, links, room, read=read)]
    steps = map(_step, acts_in(view.steps)[-_MOST_STEPS:])
    last = [_state(view), *steps, *_keep(view, links)]
    below = case_buttons(view)
    left = CONTENT_BUDGET - size(card([*first, *last], below))
    found = [
        *_missing_facts(view.finding),
        *_judgement(view),
        *_pages(view.finding, links, now),
        *_earlier_exchanges(view.before),
    ]
    return card([*first, *_fitting_parts(found, left), *last], below)


def _fitting_parts(parts: Sequence[Json], room: int) -> Iterator[Json]:
    left = room
    for part in parts:
        left -= size(part)
        if left < 0:
            return
        yield part


def _presser_note(note: PresserNote | None) -> list[Json]:
    if note is None or not note.remark:
        return []
    kept = split(note.words, _QUESTION_BYTES, size)[0]
    yours = (
        [text_run(tr("You wrote:"), **_SUBTLE), *text_run_paragraphs(kept, most=_MOST_LINES)]
        if kept
        else []
    )
    return [_container([text_run(note.remark, **_BOLD), *yours], style="warning")]


def _question(
    message: Message, view: CaseView, links: CaseLinks, room: int, *, read: bool
) -> list[Json]:
    case = view.case
    asked = split(without_backticks(question_text(case.question[:_QUESTION_LIMIT])), room, size)[0]
    reason = ESCALATION_REASONS[case.reason]
    from_whom = tr(" from {who}: {reason}", who=_who(message, view), reason=reason)
    opening = text_runs((_OPENING, _BOLD), (from_whom, {}))
    shown = text_run_paragraphs(asked, most=_MOST_LINES) or [text_run(tr("(no text)"), **_SUBTLE)]
    thread = THREAD_IS_ASKED_ABOUT if read else THREAD_NOT_READ
    unread = (thread,) if buttons_for_people(case) else ()
    return [
        opening,
        _container(shown, style="emphasis"),
        *([text_block(askers, **_BOLD)] if (askers := askers_text(case)) else []),
        text_block(join_texts(" \u00b7 ", (_where(message, links), *unread))),
    ]


def _who(message: Message, view: CaseView) -> str:
    return f"{display_name(view.case.asker_name or message.author.name)}{view.case.asker_mark}"


def _where(message: Message, links: CaseLinks) -> str:
    chat = kind_of(read_reference(message.reply_to)) == "groupChat"
    asked: str = tr("Asked in a group chat") if chat else tr("Asked in a channel")
    if message.private:
        asked = tr("Asked in a personal chat")
    thread, board = web_url(links.thread), web_url(links.board)
    opened = markdown_link(tr("Open thread"), thread) if thread else asked
    if not board:
        return opened
    return join_texts(" \u00b7 ", (opened, markdown_link(tr("Open on the board"), board)))


def _judgement(view: CaseView) -> list[Json]:
    """Return why the asker judged the given answer as no help."""
    if view.judged is None:
        return []
    said = clip(without_backticks(judgement_text(view.judged)), _LINE_LENGTH)
    return [text_run(join_texts(" ", (JUDGED_INTRO, said)))]


def _missing_facts(finding: SearchFinding | None) -> list[Json]:
    """Return the facts that the given answer lists as missing in the pages."""
    if finding is None or not finding.missing:
        return []
    said = clip(without_backticks(excerpt(finding.missing, _LINE_LENGTH)), _LINE_LENGTH)
    return [text_runs((tr("The wiki doesn't say:"), _BOLD), (f" {said}", {}))]


def _pages(finding: SearchFinding | None, links: CaseLinks, now: datetime) -> list[Json]:
    """Return the found pages that everyone may read."""
    if finding is None:
        return []
    shown = [_page(each, now) for each in case_pages(finding, links.public_url)]
    if hidden := hidden_pages(finding):
        shown.append(text_run(hidden, **_SUBTLE))
    return [_heading(pages_heading(finding)), *shown] if shown else []


def _page(page: SourceLine, now: datetime) -> Json:
    label = without_card_functions(teams_label(page.label))
    name = text_block(f"[{label}]({page.url})") if page.url else text_run(page.label)
    about = join_texts(", ", (part for part in (page.space, freshness(page, now)) if part))
    return _container([name, text_run(about, **_SUBTLE)] if about else [name], spacing="Small")


def _earlier_exchanges(exchanges: Sequence[EarlierExchange]) -> list[Json]:
    return [_heading(tr("Conversation so far")), *map(_exchange, exchanges)] if exchanges else []


def _exchange(exchange: EarlierExchange) -> Json:
    asked = clip(without_backticks(question_text(exchange.question)), _LINE_LENGTH)
    said = text_run(join_texts("", ("\u2022 ", asked)))
    return _container([said, *_answer(exchange)], spacing="Small")


_WITHHELD = tr("an answer from pages that not everyone can read")


def _answer(exchange: EarlierExchange) -> Iterator[Json]:
    """Yield the beginning of an answer, with its code and tables whole or left out."""
    if exchange.withheld or not exchange.answer.strip():
        why = _WITHHELD if exchange.withheld else tr("no answer")
        yield text_run(join_texts(" ", ("\u2192", why)), **_SUBTLE)
        return
    yield text_run("\u2192", **_SUBTLE)
    text = _QUOTED.sub("", exchange.answer)
    if _FENCE_WITHIN.search(text):
        text = without_backticks(text)
    for block in blocks(excerpt(text, _ANSWER_LENGTH)):
        if is_fence(block):
            opening, *code, _ = block.splitlines()
            yield from code_elements(Code("\n".join(code), opening.strip("`~ ")), lambda _: True)
        else:
            plain = _STRONG.sub(r"\1", without_backticks(block))
            yield from text_run_paragraphs(plain, most=_MOST_LINES)


def _state(view: CaseView) -> Json:
    return _with_date(text_run(status_text(view), **_BOLD), state_since(view.case))


def _step(step: CaseStep) -> Json:
    """Return a step of the case: who did what, with their words."""
    name = display_name(step.actor.name if step.actor else "")
    words = f": {clip(without_backticks(step.text), _LINE_LENGTH)}" if step.text else ""
    did = join_texts("", (name, " ", step_label(step), words))
    return _with_date(text_run(did, **_SUBTLE), step.at)


def _keep(view: CaseView, links: CaseLinks) -> list[Json]:
    """Return the link that keeps the answer of an answered case on the board."""
    link = web_url(keep_link(view, links.public_url))
    return (
        [text_block(join_texts(" ", (KEEP_QUESTION, markdown_link(KEEP_ON_BOARD, link))))]
        if link
        else []
    )


def _with_date(words: Json, at: datetime) -> Json:
    """Return a line with a time, which Teams shows in each reader's time zone."""
    utc = f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    time = text_block(f"{{{{DATE({utc}, SHORT)}}}} {{{{TIME({utc})}}}}", isSubtle=True)
    columns = [_column("stretch", words), _column("auto", time)]
    return {"type": "ColumnSet", "columns": columns, "spacing": "Small"}


def _column(width: str, shown: Json) -> Json:
    return {"type": "Column", "width": width, "items": [shown]}


def _heading(words: str) -> Json:
    return text_block(words, weight="Bolder", separator=True)


def _container(items: Sequence[Json], **looks: object) -> Json:
    return {"type": "Container", **looks, "items": list(items)}
