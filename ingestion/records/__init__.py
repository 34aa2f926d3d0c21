"""Store runs, the source of each space, and leases on spaces (docs/adr/0010)."""
