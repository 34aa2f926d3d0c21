"""The workspace that is served: the bot in it, its people, its configuration."""
