"""Why an answer did not help, as it is asked for everywhere."""

from __future__ import annotations

from collections.abc import Mapping

from bot.feedback import LONGEST_COMMENT, Reason

LABELS: Mapping[Reason, str] = {
    "wrong": "It's wrong",
    "outdated": "It's outdated",
    "off_topic": "Not what I asked",
    "unclear": "It's unclear",
    "other": "Something else\u2026",
}
IN_WORDS = "What was wrong with the answer?"
WHO_READS_IT = "Those who look after me read it with your name."
TOO_LONG = f"That is too long to keep. Please say it in {LONGEST_COMMENT:,} characters."
THANKS = "Thanks, I've noted what you wrote."
