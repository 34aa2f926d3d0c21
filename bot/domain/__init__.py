"""Frozen values, ports, errors, settings and text: what every other room builds on."""
