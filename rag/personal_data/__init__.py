"""Recognise personal data in what people write, by patterns, checksums and a list of names."""
