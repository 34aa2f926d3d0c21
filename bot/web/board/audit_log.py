"""The audit log in words: what was done, on what, and its details. Stored entries stay English."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, get_args

from bot.chat.commands.channel_settings import audited_policy_in_words
from bot.domain.cases import GROUP_ACTS, Act
from bot.domain.record_reports import AuditRecord
from bot.domain.texts import join_texts, tr, trn
from bot.domain.users import ROLE_NAMES, short_actor_name
from bot.escalations.lifecycle import display_name
from bot.learning.certificate_watch import suspension_in_words
from bot.web.board.answers import STATE_LABELS
from bot.web.board.label_queue import ORIGIN_TEXTS, TRUTH_TEXTS

ACTS: Final[Mapping[str, str]] = {
    "claim": tr("Claimed"),
    "release": tr("Released"),
    "assign": tr("Assigned to a colleague"),
    "note": tr("Wrote a note"),
    "reply": tr("Replied"),
    "amend": tr("Corrected a reply"),
    "retract": tr("Retracted a reply"),
    "resolve": tr("Resolved"),
    "decline": tr("Declined"),
    "reopen": tr("Reopened"),
    "ask_more": tr("Asked to see earlier messages"),
    "show_more": tr("Agreed to show earlier messages"),
    "keep_more": tr("Declined to show earlier messages"),
    "see_more": tr("Looked at earlier messages"),
    "join": tr("Joined with another escalation"),
    "split": tr("Separated from another escalation"),
    "withdraw": tr("Withdrew a question"),
    "pause": tr("Paused answering"),
    "resume": tr("Resumed answering"),
    "set policy": tr("Changed channel settings"),
    "clear policy": tr("Reset channel settings"),
    "reindex": tr("Started indexing"),
    "cancel reindex": tr("Cancelled indexing"),
    "upload": tr("Uploaded a document"),
    "delete document": tr("Deleted a document"),
    "digest on": tr("Turned on a digest"),
    "digest off": tr("Turned off a digest"),
    "export person": tr("Exported a person's data"),
    "forget person": tr("Deleted a person's data"),
    "end sessions": tr("Ended browser sessions"),
    "sign_in": tr("Signed in"),
    "wrong_token": tr("Tried a wrong admin token"),
    "webhook.replay": tr("Sent webhook events again"),
    "certificate.suspend": tr("Suspended a certificate"),
    "certificate.resume": tr("Reactivated a certificate"),
    "answers.correct": tr("Corrected answers"),
    "corrections.release": tr("Sent corrections that were on hold"),
    "corrections.drop": tr("Discarded corrections that were on hold"),
    "label.accepted": tr("Accepted a label"),
    "label.rejected": tr("Rejected a label"),
    "shadow.agree": tr("Rated a draft as right"),
    "shadow.disagree": tr("Rated a draft as wrong"),
    "gap new": tr("Put a gap back"),
    "gap taken": tr("Started work on a gap"),
    "gap page_written": tr("Wrote a page for a gap"),
    "gap not_ours": tr("Marked a gap as out of scope"),
    "gap closed": tr("Closed a gap"),
    "gap reopened": tr("Reopened a gap"),
    "answer.draft": tr("Drafted an answer"),
    "answer.save": tr("Saved an answer"),
    "answer.submit": tr("Submitted an answer for review"),
    "answer.approve": tr("Published an answer"),
    "answer.reject": tr("Rejected an answer"),
    "answer.withdraw": tr("Withdrew an answer"),
    "answer.publish": tr("Published an answer as a wiki page"),
    "answer.in_review": tr("Sent an answer back to review"),
    "answer.expired": tr("Stopped using an answer"),
}
"""What the record calls an act, and what readers do; another one is shown as it is stored."""

_CASE_ACTS: Final = frozenset({*get_args(Act), *GROUP_ACTS})


@dataclass(frozen=True, slots=True)
class ActView:
    """An audited act as shown; ``case`` is the address of its escalation, or "".

    ``name`` is what the record and the docs call the act.
    """

    at: datetime
    actor: str
    who: str
    name: str
    act: str
    subject: str
    detail: str
    case: str


def act_view(record: AuditRecord, names: Mapping[str, str]) -> ActView:
    """Return an entry in words; ``names`` maps known ids to names."""
    return ActView(
        at=record.at,
        actor=record.actor,
        who=display_name(record.name) if record.name else short_actor_name(record.actor, names),
        name=record.act,
        act=ACTS.get(record.act) or record.act.replace("_", " "),
        subject=_subject(record),
        detail=_detail(record),
        case=f"/board/escalations/{record.subject}" if record.act in _CASE_ACTS else "",
    )


def _subject(record: AuditRecord) -> str:
    if record.act in {"pause", "resume"}:
        return ""
    whole = record.act == "reindex" and record.subject == "all"
    return tr("all spaces") if whole else record.subject


def _detail(record: AuditRecord) -> str:
    """Return an entry's detail in words; one of an older version as it is stored."""
    act, family = record.act, record.act.partition(".")[0]
    in_words = _DETAILS.get(act) or _DETAILS.get(family)
    return in_words(record.detail) if in_words else record.detail


_PAGE: Final = "page "
_SCOPE = re.compile(r"(?P<what>changes in|one page of) (?P<space>.+)")
_TOLD = re.compile(r"(?P<n>\d+) (?P<how>told|noted|refused)")
_RUN_WORDS: Final[Mapping[str, str]] = {
    "dry run": tr("dry run"),
    "mass delete allowed": tr("many pages may be removed"),
}
_ENDS: Final[Mapping[str, str]] = {
    "its date has come": tr("its review date has passed"),
    "thumbs down": tr("thumbs down"),
}


def _run(detail: str) -> str:
    return join_texts(", ", map(_run_word, detail.split(", ")))


def _run_word(word: str) -> str:
    if word.startswith(_PAGE):
        return tr("page {page}", page=word.removeprefix(_PAGE))
    return _RUN_WORDS.get(word, word)


def _scope(detail: str) -> str:
    if detail == "all spaces":
        return tr("all spaces")
    found = _SCOPE.fullmatch(detail)
    if found is None:
        return detail
    if found["what"] == "changes in":
        return tr("changes in {space}", space=found["space"])
    return tr("one page of {space}", space=found["space"])


def _told(detail: str) -> str:
    found = _TOLD.fullmatch(detail)
    if found is None:
        return detail
    number = int(found["n"])
    match found["how"]:
        case "told":
            return trn("{n} answer corrected", "{n} answers corrected", number)
        case "noted":
            return trn("{n} asker notified privately", "{n} askers notified privately", number)
    return trn("{n} answer could not be corrected", "{n} answers could not be corrected", number)


_ORIGINS: Final[Mapping[str, str]] = {str(name): text for name, text in ORIGIN_TEXTS.items()}
_TRUTHS: Final[Mapping[str, str]] = {str(name): text for name, text in TRUTH_TEXTS.items()}


def _label(detail: str) -> str:
    origin, _, truth = detail.partition(": ")
    texts = [_ORIGINS.get(origin, ""), _TRUTHS.get(truth, "")]
    return join_texts(": ", texts) if all(texts) else detail


def _one_of(*texts: tuple[str, str]) -> Callable[[str], str]:
    known = dict(texts)
    return lambda detail: known.get(detail, detail)


def _counted(words: Callable[[int], str]) -> Callable[[str], str]:
    return lambda detail: words(int(detail)) if detail.isdecimal() else detail


_ANSWERS = _counted(lambda n: trn("{n} answer", "{n} answers", n))

_DETAILS: Final[Mapping[str, Callable[[str], str]]] = {
    "set policy": audited_policy_in_words,
    "reindex": _run,
    "cancel reindex": _scope,
    "sign_in": _one_of(*ROLE_NAMES.items()),
    "end sessions": _counted(lambda n: trn("{n} session", "{n} sessions", n)),
    "webhook.replay": _counted(lambda n: trn("{n} step", "{n} steps", n)),
    "certificate.suspend": suspension_in_words,
    "answers.correct": _told,
    "corrections.release": _ANSWERS,
    "corrections.drop": _ANSWERS,
    "label": _label,
    "answer": _one_of(*STATE_LABELS.items(), *_ENDS.items()),
}
"""By act, or by what precedes the dot of several."""
