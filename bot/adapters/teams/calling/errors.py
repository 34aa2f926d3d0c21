"""What can go wrong between the bot and Microsoft, besides bot.errors.

- bot.errors.BotError
  - KeysUnavailable     the keys that tokens are signed with cannot be fetched
  - bot.errors.DeliveryFailed
    - Busy              Teams did nothing; ask again after a while
    - NotPermitted      Teams did nothing; an administrator can mend that
    - NoToken           Teams was not called: Microsoft gives the bot no token
    - Unavailable       for a moment; what Teams did is unknown
    - bot.errors.DeliveryRefused
      - FormRefused     Teams does not take what the activity holds; a plainer one may do
      - Gone            the activity or its conversation is not there
      - Removed         the bot is not in the conversation, or is blocked there
      - StreamRefused   a stream can't be begun or gone on with; a plain message may be sent
"""

from __future__ import annotations

from typing import Literal

from bot.domain.errors import BotError, DeliveryFailed, DeliveryRefused


class KeysUnavailable(BotError):
    """The signing keys cannot be fetched."""


class Busy(DeliveryFailed):
    """It is too much for Teams now; ``retry_after_seconds`` says how long to wait."""


class NotPermitted(DeliveryFailed):
    """The bot may not do this yet; an administrator can let it."""


class NoToken(DeliveryFailed):
    """Microsoft gives the bot no token; the message says why, and what mends it."""


class Unavailable(DeliveryFailed):
    """Teams, or what is before it, failed for a moment: 502 and 504."""


class FormRefused(DeliveryRefused):
    """Teams does not take what an activity holds, and did nothing.

    ``too_long``: there is too much of it; otherwise something in it is wrong.
    """

    def __init__(self, message: str, *, too_long: bool = False) -> None:
        super().__init__(message)
        self.too_long = too_long


class Gone(DeliveryRefused):
    """There is no such activity or conversation, or it can't be changed any more."""


class Removed(DeliveryRefused):
    """The bot was removed from the conversation, or is blocked there: nothing is taken from it.

    ``lasting``: until something comes from there again.
    """

    def __init__(self, message: str, *, lasting: bool = False) -> None:
        super().__init__(message)
        self.lasting = lasting


class StreamRefused(DeliveryRefused):
    """Teams goes on with no stream, and did nothing; ``why`` is what it says about that.

    "stopped": its reader pressed Stop. "completed": its final message is there. "late": two minutes
    are over. "refused": anything else, such as another one under way, or too much text.
    """

    def __init__(self, message: str, why: StreamEnd) -> None:
        super().__init__(message)
        self.why = why


StreamEnd = Literal["stopped", "completed", "late", "refused"]
