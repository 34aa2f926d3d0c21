"""Tests of the life of escalations."""
