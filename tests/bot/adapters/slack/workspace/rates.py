"""How often Slack takes a call, per method and for posts per channel."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

POST_BURST = 3
"""Posts that one channel takes at once; after them it is one a second."""

_BURST = 5
"""Calls that even the slowest method takes at once."""

_TIERS = {1: 1, 2: 20, 3: 50, 4: 100, 5: 600}
"""Calls a minute; what Slack calls special is the fifth."""

_TIER_OF = {
    "agents.sessions.setStatus": 3,
    "apps.connections.open": 1,
    "assistant.threads.setStatus": 5,
    "assistant.threads.setSuggestedPrompts": 4,
    "assistant.threads.setTitle": 3,
    "chat.delete": 3,
    "chat.postEphemeral": 4,
    "chat.update": 3,
    "conversations.history": 3,
    "conversations.info": 3,
    "conversations.members": 4,
    "conversations.open": 3,
    "conversations.replies": 3,
    "reactions.add": 3,
    "reactions.remove": 3,
    "usergroups.list": 2,
    "usergroups.users.list": 2,
    "users.info": 4,
    "users.lookupByEmail": 3,
    "views.open": 4,
    "views.push": 4,
    "views.update": 4,
}


@dataclass
class Bucket:
    """Permits that come back with time."""

    most: float
    per_second: float
    left: float
    at: float

    def take(self, now: float) -> float:
        """Take a permit and return 0, or return the seconds until there is one."""
        self.left = min(self.most, self.left + (now - self.at) * self.per_second)
        self.at = now
        if self.left >= 1:
            self.left -= 1
            return 0.0
        return (1 - self.left) / self.per_second


@dataclass
class Rates:
    """The permits of an app in a workspace."""

    now: Callable[[], float]
    _buckets: dict[str, Bucket] = field(default_factory=dict)

    def wait(self, method: str, arguments: Mapping[str, Any]) -> int:
        """Return 0 and count the call, or the whole seconds after which it may be tried."""
        if method == "chat.postMessage":
            bucket = self._bucket(f"post {arguments.get('channel')}", POST_BURST, 1.0)
        elif method in _TIER_OF:
            tier = _TIERS[_TIER_OF[method]]
            bucket = self._bucket(method, max(tier, _BURST), tier / 60)
        else:
            return 0
        return math.ceil(bucket.take(self.now()))

    def _bucket(self, name: str, most: float, per_second: float) -> Bucket:
        return self._buckets.setdefault(name, Bucket(most, per_second, most, self.now()))
