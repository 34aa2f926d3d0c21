"""Runs in the background: begun, scheduled, worked off in worker processes, and watched."""
