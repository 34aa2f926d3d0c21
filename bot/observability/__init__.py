"""What operators see of the work: logs, the line of each request, metrics and traces."""
