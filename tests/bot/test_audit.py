from __future__ import annotations

from structlog.testing import capture_logs

from bot.audit import HIDDEN, Audit
from bot.types import FoundPassage, Intent, Outcome, Reply, Route, Trace
from tests.builders import message

OUTCOME = Outcome(
    Reply("ok", "generic", confidence=0.7),
    Trace(
        Route(Intent.DOMAIN, 0.9, "rule", "?"),
        passages=(FoundPassage("c1", "vpn.md", "VPN", "", {}),),
    ),
)


def test_the_line_has_what_an_operator_asks_for() -> None:
    with capture_logs() as logs:
        Audit(log_questions=True).answered(message("Where?"), OUTCOME, 12.345)

    assert logs == [
        {
            "event": "request.answered",
            "log_level": "info",
            "interaction_id": message("").interaction_id,
            "platform": "web",
            "tenant": "default",
            "user_query": "Where?",
            "intent": "DOMAIN",
            "retrieval_used": True,
            "document_ids": ["vpn.md"],
            "confidence_score": 0.7,
            "answer_type": "GENERIC",
            "duration_ms": 12.3,
        }
    ]


def test_questions_stay_out_of_the_log_when_told_so() -> None:
    with capture_logs() as logs:
        Audit(log_questions=False).answered(message("my salary"), OUTCOME, 1)

    assert logs[0]["user_query"] == HIDDEN
    assert "salary" not in repr(logs)
