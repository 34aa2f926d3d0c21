"""How it stands with Slack, as far as is known without asking it."""

from __future__ import annotations

from bot.domain.health import ComponentStatus

TOKEN = "token"  # noqa: S105 - the name of what is in trouble
SOCKET = "socket"


class Standing:
    """What is wrong, by what it is wrong with; nothing at the start.

    After the token and the socket come the channels in which people can't be asked.

    ``well`` is what is told while nothing is.
    """

    def __init__(self, well: ComponentStatus) -> None:
        self._well = well
        self._troubles: dict[str, tuple[str, str]] = {}

    def note(self, about: str, why: str, *, cure: str) -> None:
        """Say what is wrong with the token or the socket."""
        self._troubles[about] = (why, cure)

    def clear(self, about: str) -> None:
        """Say that it is well again."""
        self._troubles.pop(about, None)

    def missed_people(self, channel: str, why: str) -> None:
        """Say that a question could not be shown to people in a channel; ``why`` has the cure."""
        self.note(channel, f"People can't be asked in {channel}: the board alone has it.", cure=why)

    def reached_people(self, channel: str | None) -> None:
        """Say that people can be asked in a channel."""
        self.clear(channel or "")

    def why(self, about: str) -> str:
        """Return what is wrong with one of them and how to mend it, "" when nothing is."""
        return " ".join(self._troubles.get(about, ()))

    def part(self) -> ComponentStatus:
        """Return it as a line for the operator; the token comes before the socket."""
        for about in (TOKEN, SOCKET, *self._troubles):
            if about in self._troubles:
                why, cure = self._troubles[about]
                return ComponentStatus("Slack", "failed", why, cure)
        return self._well
