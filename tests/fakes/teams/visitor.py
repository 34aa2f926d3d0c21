"""A person in the tenant: writes, reacts, presses, and sees what the bot answers.

Every activity is in ``sent``, every answer of the bot in ``answers``, with its status and the
seconds it took; words that only this person was told are in ``told``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from tests.fakes.teams import activities, connector_api, interactions
from tests.fakes.teams.exchange import Answer, Client, send_as_service
from tests.fakes.teams.interactions import Dialog, dialog_of
from tests.fakes.teams.names import ALICE
from tests.fakes.teams.people import (
    ROOT,
    Conversation,
    Human,
    chat_of,
    personal_chat,
    place_of,
    thread_of,
)
from tests.fakes.teams.posts import Sent, Written
from tests.fakes.teams.server import FakeTeams
from tests.fakes.teams.state import Tenant


def is_sent_to_bot(teams: Tenant, activity: Mapping[str, Any]) -> bool:
    """Tell whether the bot is there, and asked: alone with somebody, mentioned, or permitted."""
    there = teams.conversations[place_of(activity["conversation"]["id"])]
    asked = there.kind == "personal" or teams.hears_all or has_mention(activity)
    return there.has_bot and asked


def has_mention(activity: Mapping[str, Any]) -> bool:
    return any(entity["type"] == "mention" for entity in activity["entities"])


Json = dict[str, Any]


def install(teams: Tenant, human: Human, where: str) -> Sequence[Json]:
    """Add the app; return what Teams tells it, in the order of Teams."""
    there = _place(teams, human, where)
    for each in _together(teams, there):
        each.has_bot, each.refuses = True, ""
    added = [teams.bot(), *([human.account()] if there.kind == "personal" else [])]
    return (
        activities.joined(teams, human, there, "membersAdded", added),
        activities.installed(teams, human, there, "add"),
    )


def uninstall(teams: Tenant, human: Human, where: str) -> Sequence[Json]:
    """Remove the app; from a personal chat Teams tells that by installationUpdate only."""
    there = _place(teams, human, where)
    for each in _together(teams, there):
        each.has_bot = False
    removed = activities.installed(teams, human, there, "remove")
    if there.kind == "personal":
        return (removed,)
    return (removed, activities.joined(teams, human, there, "membersRemoved", [teams.bot()]))


def add_member(teams: Tenant, human: Human, where: str) -> Json:
    there = _place(teams, human, where)
    for each in _together(teams, there):
        each.members.add(human.id)
    return activities.joined(teams, human, there, "membersAdded", [_named(human)])


def remove_member(teams: Tenant, human: Human, where: str) -> Json:
    there = _place(teams, human, where)
    for each in _together(teams, there):
        each.members.discard(human.id)
    return activities.joined(teams, human, there, "membersRemoved", [_named(human)])


def _place(teams: Tenant, human: Human, where: str) -> Conversation:
    """Return a chat, or of a team its channel General: that is where Teams tells of teams."""
    if where not in teams.conversations and where == personal_chat(human.id).id:
        teams.conversations[where] = personal_chat(human.id)
    there = teams.conversations[place_of(where)]
    return teams.conversations.get(there.team, there)


def _together(teams: Tenant, there: Conversation) -> list[Conversation]:
    """Return what the app is added to, and removed from, at once."""
    if there.kind != "channel":
        return [there]
    return [each for each in teams.conversations.values() if each.team == there.team]


def _named(human: Human) -> Json:
    """Teams tells no name of who comes or goes."""
    return {"id": human.user, "aadObjectId": human.id}


class Visitor:
    """One person of a tenant, by object id, at a bot that is reached by HTTP.

    While ``held`` is a list, activities are put there and not sent: ``deliver`` sends them later,
    in any order, and as often as wanted. Invokes are never held: somebody waits for them.
    """

    def __init__(self, teams: FakeTeams, client: Client, person: str = ALICE) -> None:
        self.teams = teams
        self.client = client
        self.id = person
        self.human = teams.people[person]
        self.sent: list[Json] = []
        self.answers: list[Answer] = []
        self.told: list[str] = []
        self.held: list[Json] | None = None
        self._token = ""

    @property
    def chat(self) -> str:
        """The id of this person's chat with the bot, whether or not they added the app."""
        return chat_of(self.id)

    async def say(
        self,
        where: str | Sent | Written,
        text: str,
        *,
        mention: bool = True,
        files: Sequence[Json] = (),
    ) -> Written:
        """Write a message: into a chat, a channel (a new thread), or a thread.

        ``where`` is a conversation, or a message in it. The bot is mentioned unless the chat is
        with it alone; what does not mention it reaches it only where the tenant ``hears_all``.
        """
        place, name = self._conversation(where), self.teams.next_id()
        there = self.teams.conversations[place_of(place)]
        assert self.id in there.members, f"{self.id} is not in {there.id}"
        begins = there.kind == "channel" and not thread_of(place)
        place = f"{place}{ROOT}{name}" if begins else place
        named = mention and there.kind != "personal"
        said = activities.message(self.teams, self.human, place, name, text=text, mention=named)
        post = Written(name, place, self.id, text, activities.with_files(said, files))
        self.teams.written[name] = post
        await self._happened(post.activity, heard=is_sent_to_bot(self.teams, post.activity))
        return post

    async def edit(self, post: Written, text: str, *, mention: bool | None = None) -> None:
        """Change an own message; the bot stays mentioned or not, unless that is said."""
        heard = is_sent_to_bot(self.teams, self._own(post).activity)
        there = self.teams.conversations[post.place]
        named = has_mention(post.activity) if mention is None else mention
        named = named and there.kind != "personal"
        now = activities.message(
            self.teams, self.human, post.conversation, post.id, text=text, mention=named
        )
        told = activities.edited(self.teams, post, "editMessage", now)
        post.typed, post.activity = text, {**now, "timestamp": post.activity["timestamp"]}
        await self._happened(told, heard=heard or is_sent_to_bot(self.teams, now))

    async def delete(self, post: Written) -> None:
        """Delete an own message."""
        self._own(post).deleted = True
        await self._happened(
            activities.deleted(self.teams, post), heard=is_sent_to_bot(self.teams, post.activity)
        )

    async def undelete(self, post: Written) -> None:
        """Take the deletion of an own message back."""
        assert post.deleted
        post.deleted = False
        told = activities.edited(self.teams, self._own(post), "undeleteMessage", {})
        await self._happened(told, heard=is_sent_to_bot(self.teams, post.activity))

    async def react(self, post: Sent | str, kind: str = "like") -> None:
        """Give a reaction to a message of the bot."""
        seen = self._seen(post)
        self.teams.reactions.setdefault(seen.id, set()).add((self.id, kind))
        await self._happened(
            activities.reacted(self.teams, self.human, seen, kind, "reactionsAdded")
        )

    async def unreact(self, post: Sent | str, kind: str = "like") -> None:
        """Take an own reaction back."""
        seen = self._seen(post)
        self.teams.reactions[seen.id].remove((self.id, kind))
        await self._happened(
            activities.reacted(self.teams, self.human, seen, kind, "reactionsRemoved")
        )

    async def feedback(
        self, post: Sent | str, reaction: str = "like", text: str = "", *, plain: bool = False
    ) -> Answer:
        """Use the thumbs below a message; ``plain`` sends it as the playground does."""
        seen = self._seen(post)
        value = interactions.feedback_value(seen, reaction, text, plain=plain)
        on = "" if plain else seen.id
        answer = await self._invoke("message/submitAction", value, seen, on)
        assert answer.status != 200 or answer.text == "{}", "Teams shows an error for a body"
        return answer

    async def press(self, post: Sent | str, title: str, **inputs: object) -> Answer:
        """Press a button of a card; the fields around it are named by id or label.

        Action.Execute: a card in the answer replaces what this person sees, words are ``told``.
        Action.Submit: a message with the values.
        """
        seen = self.teams.carded(self._seen(post))
        action = interactions.button_action(self.teams.cards_for(self.id, seen), title, inputs)
        if action["type"] == "Action.Execute":
            return await self._executed(seen, interactions.execute_value(action))
        assert "msteams" not in action["data"], f"{title!r} opens a dialog: use open"
        return await self._send(activities.valued(self.teams, self.human, seen, action["data"]))

    async def look(self, post: Sent | str) -> Answer | None:
        """Look at a message; one that refreshes itself for this person is asked for anew."""
        seen = self.teams.carded(self._seen(post))
        action = interactions.refresh_action_of(
            self.teams.cards_for(self.id, seen), self.human.user
        )
        if action is None:
            return None
        return await self._executed(seen, interactions.execute_value(action, "automatic"))

    async def open(self, post: Sent | str, title: str, **inputs: object) -> Dialog:
        """Press a button that opens a dialog."""
        seen = self.teams.carded(self._seen(post))
        action = interactions.button_action(self.teams.cards_for(self.id, seen), title, inputs)
        kind = (action["data"].get("msteams") or {}).get("type")
        assert (action["type"], kind) == ("Action.Submit", "task/fetch"), f"{title!r} opens nothing"
        answer = await self._invoke(
            "task/fetch", interactions.task_value(action["data"]), seen, seen.id
        )
        return dialog_of(seen, answer.body) or Dialog(seen)

    async def submit(self, dialog: Dialog, title: str, **inputs: object) -> Dialog | None:
        """Press a button of a dialog; return what it shows then, None when it is closed."""
        action = interactions.button_action([dialog.card], title, inputs)
        assert action["type"] == "Action.Submit", f"{title!r} does not send a dialog"
        value = interactions.task_value(action["data"])
        answer = await self._invoke("task/submit", value, dialog.over, "")
        shown = dialog_of(dialog.over, answer.body)
        if shown is not None and shown.words:
            self.told.append(shown.words)
        return shown

    def stop(self) -> None:
        """Press Stop in one's chat, below what the bot is writing; the bot learns it by asking."""
        connector_api.stop_stream(self.teams, self.chat)

    async def install(self, where: str = "") -> None:
        """Add the app: for oneself, to the team of a channel, to a chat."""
        for activity in install(self.teams, self.human, where or self.chat):
            await self._happened(activity)

    async def uninstall(self, where: str = "") -> None:
        """Remove the app."""
        for activity in uninstall(self.teams, self.human, where or self.chat):
            await self._happened(activity)

    async def joins(self, where: str) -> None:
        """Come into a team or group chat."""
        await self._happened(add_member(self.teams, self.human, where))

    async def leaves(self, where: str) -> None:
        await self._happened(remove_member(self.teams, self.human, where))

    async def deliver(self, *activities: Mapping[str, Any]) -> list[Answer]:
        """Send activities, at the same time and in no order; also such as were sent before."""
        return list(await asyncio.gather(*map(self._send, activities)))

    async def _executed(self, seen: Sent, value: Json) -> Answer:
        answer = await self._invoke("adaptiveCard/action", value, seen, seen.id)
        words = interactions.show_answer(self.teams, self.id, seen, answer.body)
        self.told += [words] if words else []
        return answer

    async def _invoke(self, name: str, value: Json, over: Sent, on: str) -> Answer:
        where = over.conversation
        return await self._send(activities.invoke(self.teams, self.human, where, name, value, on))

    async def _happened(self, activity: Mapping[str, Any], *, heard: bool = True) -> None:
        if not heard:
            return
        if self.held is not None:
            self.held.append(dict(activity))
        else:
            await self._send(activity)

    async def _send(self, activity: Mapping[str, Any]) -> Answer:
        self.sent.append(dict(activity))
        if self.teams.keys and not self._token:
            self._token = self.teams.token()
        answer = await send_as_service(self.client, activity, token=self._token)
        self.answers.append(answer)
        return answer

    def _conversation(self, where: str | Sent | Written) -> str:
        return where if isinstance(where, str) else where.conversation

    def _own(self, post: Written) -> Written:
        assert post.person == self.id, f"{self.id} did not write this"
        return post

    def _seen(self, post: Sent | str) -> Sent:
        seen = self.teams.post(post if isinstance(post, str) else post.id)
        assert self.id in self.teams.conversations[seen.place].members, f"{self.id} sees it not"
        return seen


_GLANCE_SECONDS = 0.05
_ANSWER_SECONDS = 120.0
_CARD_SECONDS = 5.0


def answers_to(teams: FakeTeams, asked: Written) -> Sequence[Sent]:
    """Return what stands below a message: words, and what hangs below them."""
    return [post for post in teams.messages if post.reply_to == asked.id and not is_waiting(post)]


def is_waiting(post: Sent) -> bool:
    """Tell whether a message says only that a question is worked on."""
    return not post.cards and post.text.endswith("\u2026")


async def wait_for_answers(teams: FakeTeams, asked: Written) -> Sequence[Sent]:
    """Wait for an answer, and a little longer for its buttons. Raises TimeoutError."""
    async with asyncio.timeout(_ANSWER_SECONDS):
        while not answers_to(teams, asked):  # noqa: ASYNC110 - it happens in another server
            await asyncio.sleep(_GLANCE_SECONDS)
    with suppress(TimeoutError):
        async with asyncio.timeout(_CARD_SECONDS):
            while not any(each.cards for each in answers_to(teams, asked)):  # noqa: ASYNC110 - as above
                await asyncio.sleep(_GLANCE_SECONDS)
    return answers_to(teams, asked)


def posts_by_button(posts: Sequence[Sent]) -> dict[str, Sent]:
    """Return where each button is, by what is written on it."""
    return {label: post for post in posts for label in post.labels}
