"""Proofs of Slack over the whole application, as its people see it."""
