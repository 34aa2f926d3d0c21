"""Tests of cards, buttons and notices of escalated questions."""
