"""Tests of converting documents."""
