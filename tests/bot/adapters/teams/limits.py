"""What Teams, and the stricter playground, take of an activity."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

BUDGET = 25_000


def refusal(activity: Mapping[str, Any]) -> str:
    """Return why Teams and the playground would refuse an activity, "" when they take it."""
    if len(json.dumps(activity, ensure_ascii=False).encode("utf-16-le")) > BUDGET:
        return "MessageSizeTooBig"
    if activity["type"] != "message":
        return ""
    entities = activity.get("entities") or []
    roots = [e for e in entities if e["type"] == "https://schema.org/Message"]
    if not roots:
        return ""
    cited = roots[0].get("citation", []) if len(roots) == 1 else None
    fine = (
        cited is not None
        and len(cited) <= 10
        and len(roots[0]["additionalType"]) == 1
        and all(_is_citation(claim, activity["text"]) for claim in cited)
    )
    return "" if fine else "BadRequest"


def _is_citation(claim: Mapping[str, Any], text: str) -> bool:
    appearance = claim["appearance"]
    return (
        0 < len(appearance["name"]) <= 80
        and 0 < len(appearance["abstract"]) <= 160
        and f"[{claim['position']}]" in text
    )
