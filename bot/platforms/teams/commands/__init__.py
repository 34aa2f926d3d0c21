"""Handle commands sent to the bot as messages, and the reindex runs that they start."""
