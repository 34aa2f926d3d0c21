"""Composers of answers, the checks of what they claim, and the signals of confidence."""
