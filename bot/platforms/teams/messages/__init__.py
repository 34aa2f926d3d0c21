"""Messages in Teams: what people write, edit and attach, and what the bot posts."""
