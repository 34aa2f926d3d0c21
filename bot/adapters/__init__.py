"""The platforms. Nobody here imports another adapter."""
