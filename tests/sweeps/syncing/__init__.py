"""Long runs over a changing Confluence: what Frontdesk indexes of it, and whom it shows what.

``python -m tests.sweeps.syncing.scenario`` makes a long run; the tests make short ones.
"""
