"""Action and callback ids of buttons, modals and the shortcut.

They are a contract with messages already posted. A button's value is an interaction id unless
its constant says otherwise. Values come back from clients: what they name is looked up, and
checked against the user and the channel of the press.
"""

from __future__ import annotations

FEEDBACK = "feedback"
"""The thumb buttons below an answer; the value is ``up:ID`` or ``down:ID``."""

REASON = "reason"
"""The reasons why an answer did not help; the value is ``CODE:ID``, the action id ``reason:CODE``.
A code is one of bot.domain.interactions.REASONS, or "more" for a free-text comment."""

ASK_PERSON = "ask_person"
WHY = "why"
MORE = "more"
"""Shows the private answer, with what only the user who presses may read."""

OPTION = "option"
"""An option of a clarification; the value is ``ID:NUMBER``, counted from 0. As action ids must be
unique within a message, each is ``option:NUMBER``."""

CASE_CLAIM = "case_claim"
CASE_RELEASE = "case_release"
CASE_REPLY = "case_reply"
CASE_RESOLVE = "case_resolve"
CASE_DECLINE = "case_decline"
CASE_ASSIGN = "case_assign"
CASE_NOTE = "case_note"
CASE_ASK_MORE = "case_ask_more"
CASE_SEE_MORE = "case_see_more"
CASE_KEEP = "case_keep"
"""The buttons of people on a card; the value is the case's id, which is its interaction's."""

THREAD_SEND = "thread_send"
THREAD_KEEP = "thread_keep"
"""The buttons of an offer to send what an expert wrote in a case's thread; the value is its ts."""

ASKER_CLOSE = "asker_close"
ASKER_REOPEN = "asker_reopen"
"""The asker's buttons below a notice about an escalated question."""

ASKER_SHOW = "asker_show"
ASKER_NO = "asker_no"
"""The asker's buttons below a request to see more; the value is ``ID:NUMBER`` of the request."""

REINDEX_CANCEL = "reindex_cancel"
"""Cancels a run, if the user may; the value is the run's id."""

DRAFT_RIGHT = "draft_right"
DRAFT_WRONG = "draft_wrong"
"""The buttons below a draft, which reviewers of a channel in shadow mode see."""

REPLY_FORM = "reply_form"
DECLINE_FORM = "decline_form"
ASSIGN_FORM = "assign_form"
NOTE_FORM = "note_form"
KEEP_FORM = "keep_form"
REASON_FORM = "reason_form"
SETTINGS_FORM = "settings_form"
WHY_VIEW = "why_view"
MORE_VIEW = "more_view"
ASK_SHORTCUT = "ask_frontdesk"
"""The callback ids of modals and of the message shortcut."""
