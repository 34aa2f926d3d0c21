"""Shared parts of all web pages: layout, static files, and untrusted text as safe HTML."""
