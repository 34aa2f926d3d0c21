"""What operators see of the work: the request line, metrics, traces."""
