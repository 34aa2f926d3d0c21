"""Observability for operators: logs, a log line per request, metrics and traces."""
