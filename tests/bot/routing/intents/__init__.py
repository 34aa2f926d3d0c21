"""Tests of how a message is understood."""
