"""What `python -m bot evaluate`, `train` and `certify` are made of."""
