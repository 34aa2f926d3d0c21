"""Compute metrics and certificates over recorded outcomes; pure."""
