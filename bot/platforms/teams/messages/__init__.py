"""Messages in Teams: receive people's messages, edits and files, and post the bot's."""
