"""Ids of buttons, modals and the shortcut: a contract with messages that are posted already.

A button's value is the id of an interaction unless it says otherwise. Values come back from
clients: what they name is looked up, and checked against who pressed and where.
"""

from __future__ import annotations

FEEDBACK = "feedback"
"""The thumbs below an answer; the value is ``up:ID`` or ``down:ID``."""

REASON = "reason"
"""Why an answer did not help; the value is ``CODE:ID``, the action's id ``reason:CODE``. A code is
one of bot.domain.feedback.REASONS, or "more" for words of one's own."""

ASK_PERSON = "ask_person"
WHY = "why"
MORE = "more"
"""Shows its presser the fuller answer that only they may read."""

OPTION = "option"
"""One of the things that could be meant; the value is ``ID:NUMBER``, counted from 0. As ids are
unique within a message, an action's id is ``option:NUMBER``."""

CASE_CLAIM = "case_claim"
CASE_RELEASE = "case_release"
CASE_REPLY = "case_reply"
CASE_RESOLVE = "case_resolve"
CASE_DECLINE = "case_decline"
"""What people do on a card; the value is the case's id, which is its interaction's."""

ASKER_CLOSE = "asker_close"
ASKER_REOPEN = "asker_reopen"
"""What an asker does about a question that people were asked."""

REINDEX_CANCEL = "reindex_cancel"
"""Stops a run for who may; the value is the run's id."""

REPLY_FORM = "reply_form"
DECLINE_FORM = "decline_form"
REASON_FORM = "reason_form"
SETTINGS_FORM = "settings_form"
WHY_VIEW = "why_view"
ASK_SHORTCUT = "ask_frontdesk"
"""Callback ids of forms and of the message shortcut."""
