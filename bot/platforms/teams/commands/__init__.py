"""Commands that people write to the bot, and the runs that they start."""
