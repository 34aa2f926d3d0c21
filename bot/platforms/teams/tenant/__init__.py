"""The Teams tenant: its members, its conversations, and where the bot is installed."""
