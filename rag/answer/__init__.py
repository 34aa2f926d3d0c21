"""Compose answers from passages, check their claims, and compute confidence features."""
