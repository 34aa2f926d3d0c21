"""Proofs of Teams over the whole application, as its people see it."""
