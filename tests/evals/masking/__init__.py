"""Texts to measure the masking of personal data on."""
