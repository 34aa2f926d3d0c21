"""The served workspace: the bot's identity, its members and its configuration."""
