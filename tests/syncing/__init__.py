"""Proofs over a Confluence that people live in: what Frontdesk has of it, and whom it shows what.

``python -m tests.syncing.run`` tells a long story; the tests tell short ones.
"""
