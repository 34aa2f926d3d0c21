"""Measure the desk on labelled questions, train its gate and certify its threshold."""
