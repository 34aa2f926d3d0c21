"""Doubles and builders that several tests use."""
