"""Build the app package by which Teams learns of the bot."""
