"""Tests of Frontdesk."""
