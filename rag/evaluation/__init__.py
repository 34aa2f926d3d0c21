"""Metrics and certificate mathematics over recorded outcomes; pure."""
