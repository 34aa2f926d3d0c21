"""What ingestion remembers: runs, what fills which space, who works on it (docs/adr/0010)."""
