"""Build the Teams app package that installs the bot."""
