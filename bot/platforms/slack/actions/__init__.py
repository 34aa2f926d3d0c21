"""Handlers of buttons, reactions and the message shortcut."""
