"""A person in the workspace: writes, reacts, clicks, and sees what the bot answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from aiohttp.test_utils import TestClient

from tests.fakes.slack import events as slack_events
from tests.fakes.slack import interactions, names, web_api
from tests.fakes.slack.blocks import refusal
from tests.fakes.slack.events import ALICE, Client, WebDoor, enclosed
from tests.fakes.slack.exchange import Answer, Door, Json
from tests.fakes.slack.interactions import filled, find, unfilled
from tests.fakes.slack.posts import Post, StoredFile, View, view_problem
from tests.fakes.slack.state import Workspace

_OK = 200


def after_submission(slack: Workspace, view: View, answer: Answer) -> Json:
    """Close, change or keep a modal as the bot answered; refuse what Slack would not show."""
    if answer.status != _OK:
        return {}
    match answer.body.get("response_action"):
        case None:
            assert answer.text in {"", "{}"}, f"Slack does not understand {answer.text!r}"
            slack.open_views.remove(view)
        case "errors":
            view.errors = answer.body["errors"]
            asked = [block.get("block_id") for block in view.payload["blocks"] if "label" in block]
            assert view.errors, "Slack wants at least one error"
            assert set(view.errors) <= set(asked), f"only {asked} can be wrong"
        case "update":
            shown = answer.body["view"]
            assert view_problem(shown) == "", "Slack does not show this view"
            view.change(shown)
        case other:
            raise AssertionError(f"Slack knows no response_action {other!r}")
    return answer.body


def after_command(slack: Workspace, user: str, channel: str, answer: Answer) -> None:
    """Show what the bot answered at once, to the person alone unless it says otherwise."""
    if answer.status != _OK or not answer.text:
        return
    payload = answer.body or {"text": answer.text}
    unfit = refusal(payload, slack.block_types)
    assert not unfit, f"Slack does not show this answer: {unfit}"
    web_api.post_response(slack, user, channel, payload)


class Visitor:
    """One person of a workspace, at a bot that is reached by HTTP or by its socket.

    ``client`` is the bot's test client, or a door such as ``FakeSlack.sockets``. While ``held``
    is a list, events are put there and not sent: ``deliver`` sends them later.
    """

    def __init__(self, workspace: Workspace, client: Client | Door, user_id: str = ALICE) -> None:
        self.workspace = workspace
        self.door: Door = WebDoor(client) if isinstance(client, TestClient) else client
        self.id = user_id
        self.answers: list[Answer] = []
        self.held: list[Json] | None = None

    @property
    def direct(self) -> str:
        """The id of this person's direct conversation with the bot."""
        return web_api.direct_room(self.workspace, self.id).id

    async def say(
        self,
        channel: str,
        text: str,
        thread: str | None = None,
        files: Sequence[StoredFile] = (),
        *,
        mention: bool = False,
        broadcast: bool = False,
    ) -> str:
        """Write a message and return its ts; mentions and links in the text are live.

        ``broadcast`` shows a reply in the channel too.
        """
        self.workspace.rooms.made(channel).members.add(self.id)
        words = slack_events.typed(f"{slack_events.MENTION} {text}" if mention else text)
        payload: Json = {"text": words, **self._marks(broadcast=broadcast)}
        if files:
            shared = [self.workspace.keep(file).told(self.workspace.site) for file in files]
            payload |= {"files": shared, "subtype": "file_share"}
        post = self.workspace.write(self.id, channel, payload, thread)
        await self._happened(channel, slack_events.said(self.workspace, post))
        return post.ts

    async def edit(self, ts: str, text: str) -> None:
        """Change an own message."""
        post = self._own(ts)
        before = post.told()
        post.payload = {**post.payload, "text": slack_events.typed(text)}
        post.edited = self.workspace.next_ts()
        await self._happened(post.channel, slack_events.changed(self.workspace, post, before))

    async def delete(self, ts: str) -> None:
        """Delete an own message."""
        post = self._own(ts)
        self.workspace.posts.remove(post)
        self.workspace.gone.add(ts)
        await self._happened(post.channel, slack_events.deleted(self.workspace, post))

    async def react(self, post: Post | str, name: str) -> None:
        """Give a reaction to a message that all see."""
        seen = self._seen(post)
        assert not seen.only_for, "nobody can react to what only one person sees"
        if web_api.give_reaction(seen, self.id, name):
            await self._reacted("reaction_added", seen, name)

    async def unreact(self, post: Post | str, name: str) -> None:
        """Take an own reaction back."""
        seen = self._seen(post)
        assert web_api.take_reaction(seen, self.id, name), f"{name!r} was not given"
        await self._reacted("reaction_removed", seen, name)

    async def click(self, on: Post | View, name: str, chosen: object = None) -> Answer:
        """Use a button or menu of a message or modal, by its action id, block id or label.

        ``chosen`` is the value or label of an option, or a list of them.
        """
        if isinstance(on, View):
            control = find(on.payload["blocks"], name)
            on.values = filled(on.payload["blocks"], on.values, {name: chosen} if chosen else {})
            payload = interactions.click_on_view(self.workspace, self.id, on, control, chosen)
        else:
            assert on.only_for in {None, self.id}, f"{self.id} does not see this"
            control = find(on.blocks, name)
            on.values = filled(on.blocks, on.values, {name: chosen} if chosen else {})
            payload = interactions.click_on_post(self.workspace, self.id, on, control, chosen)
        return self._noted(await self.door.interact(payload))

    async def submit(self, view: View, values: Mapping[str, object] | None = None) -> Json:
        """Send a modal, fields named by block id, action id or label; return what it answers."""
        blocks = view.payload["blocks"]
        view.values = filled(blocks, view.values, values or {})
        missing = unfilled(blocks, view.values)
        assert not missing, f"Slack asks to fill in {missing} first"
        payload = interactions.submission(self.workspace, self.id, view)
        answer = self._noted(await self.door.interact(payload))
        return after_submission(self.workspace, view, answer)

    async def close(self, view: View) -> None:
        """Close a modal without sending it; the bot is told if it asked for that."""
        self.workspace.open_views.remove(view)
        if view.payload.get("notify_on_close"):
            payload = interactions.closing(self.workspace, self.id, view)
            self._noted(await self.door.interact(payload))

    async def command(self, channel: str, command: str, text: str = "") -> Answer:
        """Send a slash command; what is answered at once appears as a message too."""
        form = interactions.command_form(self.workspace, self.id, channel, command, text)
        answer = self._noted(await self.door.command(form))
        after_command(self.workspace, self.id, channel, answer)
        return answer

    async def shortcut(self, post: Post | str, callback_id: str) -> Answer:
        """Choose a message shortcut."""
        seen = self._seen(post)
        payload = interactions.message_action(self.workspace, self.id, seen, callback_id)
        return self._noted(await self.door.interact(payload))

    async def open_home(self, tab: str = "messages") -> None:
        """Open the app, at "messages" or "home"."""
        events = slack_events.home_opened(self.workspace, self.id, self.direct, tab)
        await self._happened(self.direct, events)

    async def stop(self, channel: str, thread_ts: str) -> None:
        """Press Stop, which Slack shows only while the bot says that it is at work."""
        assert self.workspace.sessions.get((channel, thread_ts)) == "processing"
        events = slack_events.stopped(self.workspace, self.id, channel, thread_ts)
        await self._happened(channel, events)

    async def joins(self, channel: str) -> None:
        """Come into a channel."""
        await self._comes(self.id, channel)

    async def invites(self, channel: str, user: str = names.BOT_USER) -> None:
        """Bring somebody into a channel, by default the bot."""
        await self._comes(user, channel)

    async def _comes(self, user: str, channel: str) -> None:
        room = self.workspace.rooms.made(channel)
        room.members.add(user)
        await self._happened(channel, slack_events.joined(self.workspace, user, self.id, room))

    async def _reacted(self, kind: str, post: Post, name: str) -> None:
        events = slack_events.reacted(self.workspace, kind, post, self.id, name)
        await self._happened(post.channel, events)

    async def _happened(self, channel: str, events: Sequence[Json]) -> None:
        """Send events as Slack does: at the same time, in no order."""
        envelopes = enclosed(self.workspace, self.id, channel, events)
        if self.held is not None:
            self.held.extend(envelopes)
        else:
            self.answers += await asyncio.gather(*map(self.door.event, envelopes))

    def _noted(self, answer: Answer) -> Answer:
        self.answers.append(answer)
        return answer

    def _marks(self, *, broadcast: bool) -> Json:
        marks = {"subtype": "thread_broadcast"} if broadcast else {}
        bot = self.workspace.people[self.id].is_bot
        return {**marks, "bot_id": f"B{self.id[1:]}"} if bot else marks

    def _own(self, ts: str) -> Post:
        found = [p for p in self.workspace.posts if p.ts == ts and p.user == self.id]
        assert found, f"{self.id} wrote no message {ts}"
        return found[0]

    def _seen(self, post: Post | str) -> Post:
        if isinstance(post, Post):
            return post
        return next(p for p in self.workspace.posts if p.ts == post)
