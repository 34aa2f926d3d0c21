"""The schema's history, applied at every start."""
