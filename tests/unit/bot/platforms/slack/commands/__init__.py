"""Tests of commands, a channel's settings, and runs that a command starts."""
