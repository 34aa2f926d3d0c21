"""Run ingestion in the background: start, schedule, execute in worker processes, and track runs."""
