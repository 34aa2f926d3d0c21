"""Frozen values, ports, errors, settings and text helpers that every other package builds on."""
